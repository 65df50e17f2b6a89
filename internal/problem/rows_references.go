// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

var referenceRows = []Row{
	{
		Reason: InvalidConfigMap, Class: WaitingForDependency, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "The content of a ConfigMap cannot be used: the text of `spec.overrideConfig` is not a configuration, or " +
			"a CA bundle has no certificate or a broken one. A warning where the server does not start with a part of the " +
			"configuration, because the image may differ.",
		Example: Problem{
			Path: "spec.overrideConfig.configMapName", Type: field.ErrorTypeInvalid, Value: "my-config",
			Detail: "the key \"config.yaml\" of ConfigMap mine/my-config is not a configuration: not YAML: line 1: did not " +
				"find expected node content",
			Fix: "correct it there",
		},
		Remedy: "Correct the ConfigMap. The operator watches it.",
	},
	{
		Reason: ConfigMapNotFound, Class: WaitingForDependency, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "A ConfigMap, or a key of it, does not exist. For a ConfigMap in another namespace: or its owner does not " +
			"share it.",
		Example: Problem{
			Path:   "spec.overrideConfig.configMapName",
			Detail: "ConfigMap not found: my-config (namespace mine)",
			Fix:    "create it with the key \"config.yaml\"",
		},
		Remedy: "Create the ConfigMap or the key, or have its owner annotate it as the message says. The operator watches " +
			"it.",
	},
	{
		Reason: SecretNotFound, Class: WaitingForDependency, Conditions: inSecretsResolved, FixedElsewhere: true,
		Meaning: "A Secret, or a key of it, does not exist.",
		Example: Problem{
			Path:   "spec.providers.inference[0].apiKey",
			Detail: "Secret not found: vllm-token (namespace mine)",
			Fix:    "create it with the key \"token\"",
		},
		Remedy: "Create the Secret or the key. The operator watches it.",
	},
	{
		Reason: InvalidSecret, Class: WaitingForDependency, Conditions: inSecretsResolved, FixedElsewhere: true,
		Meaning: "The value in a Secret cannot be used. For the server's certificate: it is broken, has another key, is " +
			"not valid at this time, or is not for the DNS name of the Service; a warning where it is for the hostname under " +
			"`networking.expose` instead. A warning where the value of a variable in `workload.overrides.env` is empty.",
		Example: Problem{
			Path: "spec.providers.inference[0].apiKey", Type: field.ErrorTypeInvalid,
			Detail: "the value of key \"token\" in Secret mine/vllm-token ends with a line break: remove it (for " +
				"example with printf or echo -n)",
		},
		Remedy: "Put another value into the Secret, or renew the certificate. The operator watches the Secret, and " +
			"continues by itself when a certificate becomes valid. What runs keeps its certificate.",
	},
	{
		Reason: DependencyNotReady, Class: WaitingForDependency, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "Something that the server needs is not in the cluster yet: the object that `endpointFrom` refers to, or " +
			"its address; the PersistentVolumeClaim in `workload.storage.claimName`; or the API by which the operator's " +
			"settings expose servers. Before its first start, a server also waits until an InferenceService is Ready.",
		Example: Problem{
			Path:   "spec.providers.inference[0].endpointFrom",
			Detail: "InferenceService mistral (namespace mine) has no address inside of the cluster in its status",
			Fix:    "the operator continues when it has one",
		},
		Remedy: "Create or install what the message names, or see why it has no address. The operator watches it. If a " +
			"Service has several ports, name one with `port`.",
	},
	{
		Reason: LookupFailed, Class: Transient, Conditions: []string{configGenerated, secretsResolved, deploymentUpdated,
			available}, FixedElsewhere: true,
		Meaning: "Something could not be read, or the work ended before it was complete. The operator tries again.",
		Example: Problem{
			Path:   "spec.providers.inference[0].apiKey",
			Detail: "Secret mine/vllm-token could not be read: etcdserver: request timed out",
			Fix:    "retrying",
		},
		Remedy: "Usually nothing. If it stays, look at the API server and at the operator's permissions, or make the spec " +
			"smaller.",
	},
}

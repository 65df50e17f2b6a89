// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

// referenceRows are the reasons about objects that the spec refers to.
var referenceRows = []Row{
	{
		Reason: InvalidOverrideConfig, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The text in the ConfigMap of `spec.overrideConfig` is not a configuration.",
		Example: Problem{
			Path: "spec.overrideConfig.configMapName", Type: field.ErrorTypeInvalid, Value: "my-config",
			Detail: "the key \"config.yaml\" of ConfigMap mine/my-config is not a configuration: not YAML: line 1: did not find expected " +
				"node content",
			Fix: "correct it there",
		},
		Remedy: "Correct the ConfigMap. The operator watches it.",
	},
	{
		Reason: ForeignNamespace, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The spec refers to a ConfigMap in another namespace, which this operator does not allow or does not watch.",
		Example: Problem{
			Path: "spec.overrideConfig.configMapName", Type: field.ErrorTypeForbidden,
			Detail: "ConfigMap my-config is in namespace other, which this operator does not watch",
			Fix:    "copy it to namespace mine",
		},
		Remedy: "Copy the ConfigMap to the namespace of the custom resource.",
	},
	{
		Reason: ConfigMapNotShared, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The spec refers to a ConfigMap in another namespace, which does not exist or whose owner does not share it.",
		Example: Problem{
			Path: "spec.overrideConfig.configMapName", Type: field.ErrorTypeForbidden,
			Detail: "ConfigMap my-config in namespace other does not exist, or does not allow namespace mine to use it",
			Fix:    "annotate it with llamastack.io/allow-from: mine, or copy it to namespace mine",
		},
		Remedy: "The owner of the ConfigMap annotates it, or you copy it.",
	},
	{
		Reason: ConfigMapNotFound, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "A ConfigMap, or a key of it, does not exist.",
		Example: Problem{
			Path:   "spec.overrideConfig.configMapName",
			Detail: "ConfigMap not found: my-config (namespace mine)",
			Fix:    "create it with the key \"config.yaml\"",
		},
		Remedy: "Create the ConfigMap or the key. The operator watches it.",
	},
	{
		Reason: SecretNotFound, Class: WaitingForDependency, Conditions: inSecretsResolved, Elsewhere: true,
		Meaning: "A Secret, or a key of it, does not exist.",
		Example: Problem{
			Path:   "spec.providers.inference[0].apiKey",
			Detail: "Secret not found: vllm-token (namespace mine)",
			Fix:    "create it with the key \"token\"",
		},
		Remedy: "Create the Secret or the key. The operator watches it.",
	},
	{
		Reason: SecretInvalid, Class: WaitingForDependency, Conditions: inSecretsResolved, Elsewhere: true,
		Meaning: "The value in a Secret cannot be used.",
		Example: Problem{
			Path: "spec.providers.inference[0].apiKey", Type: field.ErrorTypeInvalid,
			Detail: "the value of key \"token\" in Secret mine/vllm-token ends with a line break: write it without one (for example with " +
				"printf or echo -n)",
		},
		Remedy: "Put another value into the Secret. The operator watches it.",
	},
	{
		Reason: InvalidCertificate, Class: WaitingForDependency, Conditions: inSecretsResolved, Elsewhere: true,
		Meaning: "Clients would reject the server's certificate: it is broken, has another key, is not valid at this time, or is not for the DNS name " +
			"of the Service. A warning where it is for the hostname under `networking.expose`.",
		Example: Problem{
			Path: "spec.networking.tls.secretName", Type: field.ErrorTypeInvalid, Value: "llama-tls",
			Detail: "the certificate in Secret mine/llama-tls is not for the server's Service: its DNS names are llama.example.com",
			Fix: "issue one with the DNS name my-server-service.mine.svc; my-server-service.mine.svc.cluster.local should be among its " +
				"names too",
		},
		Remedy: "Correct the Secret, or renew the certificate. The operator watches the Secret, and continues by itself when a certificate becomes valid. " +
			"What runs keeps its certificate.",
	},
	{
		Reason: InvalidCABundle, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "A CA bundle holds no certificates, or a broken one.",
		Example: Problem{
			Path: "spec.networking.tls.caBundle.configMapName", Type: field.ErrorTypeInvalid, Value: "my-ca",
			Detail: "the key \"ca.crt\" of ConfigMap mine/my-ca holds no certificate",
			Fix:    "put one there in PEM form (-----BEGIN CERTIFICATE-----)",
		},
		Remedy: "Correct the ConfigMap. The operator watches it.",
	},
	{
		Reason: EdgeUnavailable, Class: WaitingForDependency, Conditions: inConfigGenerated,
		Meaning: "The operator's settings choose an API to expose servers by, and the cluster does not have it.",
		Example: Problem{
			Path: "spec.networking.expose", Type: field.ErrorTypeNotFound,
			Detail: "the cluster does not have the API of HTTPRoutes, which the operator's administrator chose",
			Fix:    "install it, or change kind in the key edge of the ConfigMap llama-stack-operator-config",
		},
		Remedy: "The operator's administrator installs the API, or changes the setting. The operator notices both.",
	},
	{
		Reason: LookupFailed, Class: Transient, Conditions: []string{configGenerated, secretsResolved, deploymentUpdated, available}, Elsewhere: true,
		Meaning: "Something could not be read. The operator tries again.",
		Example: Problem{
			Path:   "spec.providers.inference[0].apiKey",
			Detail: "Secret mine/vllm-token could not be read: etcdserver: request timed out",
			Fix:    "trying again",
		},
		Remedy: "Usually nothing. If it stays, look at the API server and at the operator's permissions.",
	},
}

// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

// registryAlternatives lists the alternatives when labels cannot be read.
const registryAlternatives = "the operator retries, and the running server stays as it is. To continue without the " +
	"registry, register the image with its base configuration in ConfigMap llama-stack-operator-config, set " +
	"readLabels: false under registries there, or use overrideConfig"

var distributionRows = []Row{
	{
		Reason: UnknownDistribution, Class: Terminal, Conditions: inConfigGenerated, BySettings: true,
		Meaning: "No distribution has this name.",
		Example: Problem{
			Path: "spec.distribution.name", Type: field.ErrorTypeNotSupported, Value: "startr",
			Fix: "did you mean \"starter\"? known distributions: meta-reference-gpu, postgres-demo, remote-vllm, starter; an " +
				"administrator can register more with a ConfigMap, as in config/samples/settings/registered-distribution.yaml",
		},
		Remedy: "Use a known name, or [register](operator-settings.md#register-your-own-distributions) the distribution.",
	},
	{
		Reason: UnknownServerLine, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true, BySettings: true,
		Meaning: "Nothing says which release line the server in the image has. A warning where the server is newer than " +
			"every release line that the operator knows: it is treated like the newest one.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeInvalid,
			Detail: "the server release in image registry.example.com/team/server:nightly is not known, so no configuration " +
				"can be generated for it",
			Fix: "set spec.distribution.version, or register the distribution with its serverVersion in the ConfigMap " +
				"llama-stack-operator-config",
		},
		Remedy: "Set `distribution.version`, use an image with a version tag or label, or register the distribution with " +
			"its `serverVersion`. For a newer server, upgrade the operator.",
	},
	{
		Reason: UnsupportedRelease, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "The server is older than every supported release line.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeForbidden,
			Detail: "the server in image registry.example.com/team/server:0.1.0 is release 0.1.0 (tag of the image), and 0.3 " +
				"is the oldest supported release line; the running server is not changed",
			Fix: "use a newer image, or if the server is newer than that, set spec.distribution.version, or register the " +
				"distribution with its serverVersion in the ConfigMap llama-stack-operator-config",
		},
		Remedy: "Use a newer image.",
	},
	{
		Reason: MissingConfigLabels, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true, BySettings: true,
		Meaning: "No base configuration is known for the image, and the spec needs one.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeInvalid,
			Detail: "Distribution image registry.example.com/team/server:nightly missing config labels. Add labels using " +
				"`crane mutate` or use `overrideConfig` to provide configuration manually. See docs/configuration.md for details.",
			Fix: "You can also register the image with its base configuration in the operator's ConfigMap " +
				"llama-stack-operator-config",
		},
		Remedy: "Add labels with `kubectl llamastack label`, use `spec.overrideConfig`, or register the image with its " +
			"base configuration in the operator's settings.",
	},
	{
		Reason: ReadingImageLabels, Class: WaitingForDependency, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "The operator asks the registry for the labels of the image, and has no answer yet.",
		Example: Problem{
			Path:   "spec.distribution",
			Detail: "reading from the registry: the labels of image registry.example.com/team/server:nightly",
			Fix:    "waiting for the response",
		},
		Remedy: "Usually nothing: the registry answers, or the operator gives up after a minute and reports why.",
	},
	{
		Reason: RegistryUnavailable, Class: WaitingForDependency, Conditions: inConfigGenerated, FixedElsewhere: true,
		BySettings: true,
		Meaning: "The labels of the image could not be read, because the registry does not answer or asks for fewer " +
			"requests. The operator tries again.",
		Example: Problem{
			Path: "spec.distribution",
			Detail: "the labels of image registry.example.com/team/server:nightly could not be read: the registry responds " +
				"with 503 Service Unavailable",
			Fix: registryAlternatives,
		},
		Remedy: "Usually nothing: what runs keeps running, and the operator asks again within minutes. If the operator " +
			"cannot reach the registry, register the image with its base configuration, or set `readLabels: false` in the " +
			"operator's settings.",
	},
	{
		Reason: ImageNotAccessible, Class: WaitingForDependency, Conditions: inConfigGenerated, FixedElsewhere: true,
		BySettings: true,
		Meaning: "The registry has no such image, tag or digest, or does not let the operator read it with the pod's " +
			"credentials. Many registries answer the same to both. A warning if the image is of an organization that was " +
			"removed from its registry, and runs only where a node has it, and before the Deployment gets an image of a " +
			"built-in distribution that is not known to be published.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeForbidden,
			Detail: "the labels of image registry.example.com/team/server:nightly could not be read: the registry responds " +
				"with 401 Unauthorized",
			Fix: "add a Secret with credentials for the registry to spec.workload.imagePullSecrets, or check the image " +
				"name; " + registryAlternatives,
		},
		Remedy: "Check the name of the image, and the Secrets in `spec.workload.imagePullSecrets` or of the pod's " +
			"ServiceAccount. Push the image if it is missing. The operator looks again within an hour, and at once when you " +
			"edit the resource.",
	},
	{
		Reason: InvalidImage, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "What the registry has under this name is not an image that can run here, or its labels hold a " +
			"configuration that cannot be used.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeInvalid, Value: "registry.example.com/team/server:nightly",
			Detail: "the labels of image registry.example.com/team/server:nightly could not be read: it has no image for " +
				"linux/amd64, only for: linux/arm64",
			Fix: "use another image, or overrideConfig",
		},
		Remedy: "Use an image for the platform of the nodes and with correct labels, or `spec.overrideConfig`.",
	},
	{
		Reason: InvalidBaseConfig, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "The base configuration of the distribution cannot be used: it is broken, or has a schema version that " +
			"this operator does not know.",
		Example: Problem{
			Path: "config.yaml: version", Type: field.ErrorTypeNotSupported, Value: "9",
			Detail: "Unsupported config.yaml version 9. Supported versions: 1, 2",
			Fix:    "use a distribution whose configuration has one of these versions, or an operator that supports this one",
		},
		Remedy: "Correct the base configuration in the operator's settings, or use another distribution.",
	},
	{
		Reason: InvalidOperatorSettings, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "The operator's settings cannot be used.",
		Example: Problem{
			Path: "operator settings", Type: field.ErrorTypeInvalid,
			Detail: "ConfigMap llama-stack-operator-config, key forbid[0]: Unsupported value: \"commandAndArg\": did you mean " +
				"\"commandAndArgs\"? known names: hostPathVolumes, foreignServiceAccounts, ingressWithoutHostname, " +
				"commandAndArgs, externalProviders, codeVariables, mountsOverImage, exposeAnnotations",
			Fix: "correct the ConfigMap llama-stack-k8s-operator-system/llama-stack-operator-config",
		},
		Remedy: "The operator's administrator corrects the ConfigMap.",
	},
}

// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

// waysOut are what a user can do where labels cannot be read.
const waysOut = "what runs stays; the operator tries again. To go on without the registry, register the image with its base configuration in the " +
	"ConfigMap llama-stack-operator-config, set readLabels: false under registries there, or use overrideConfig"

// distributionRows are the reasons about the distribution and its base configuration.
var distributionRows = []Row{
	{
		Reason: UnknownDistribution, Class: Terminal, Conditions: inConfigGenerated, BySettings: true,
		Meaning: "No distribution has this name.",
		Example: Problem{Path: "spec.distribution.name", Type: field.ErrorTypeNotSupported, Value: "startr", Fix: `did you mean "starter"?`},
		Remedy:  "Use a known name, or register the distribution in the operator's settings.",
	},
	{
		Reason: UnknownServerLine, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true, BySettings: true,
		Meaning: "Nothing says which release line the server in the image has. A warning where the server is newer than every release line that the " +
			"operator knows: it is treated like the newest one.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeInvalid, Value: "quay.io/example/server:latest", Detail: "nothing says the release of its server",
			Fix: "register the distribution with its serverVersion in the ConfigMap llama-stack-operator-config",
		},
		Remedy: "Use an image with a version tag, or register the distribution with its `serverVersion`. For a newer server, upgrade the operator.",
	},
	{
		Reason: UnsupportedRelease, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The server is older than every supported release line.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeForbidden, Detail: "the server is release 0.1.0, and 0.2 is the oldest supported release line",
			Fix: "use a newer image",
		},
		Remedy: "Use a newer image.",
	},
	{
		Reason: MissingConfigLabels, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true, BySettings: true,
		Meaning: "No base configuration is known for the image, and the spec needs one.",
		Example: Problem{
			Path: "spec.distribution.image", Type: field.ErrorTypeNotFound, Value: "quay.io/example/server:1.0",
			Detail: "no base configuration is known for this image",
			Fix:    "use spec.overrideConfig, or register the image with its base configuration in the ConfigMap llama-stack-operator-config",
		},
		Remedy: "Use `spec.overrideConfig`, or register the image with its base configuration in the operator's settings.",
	},
	{
		Reason: InvalidConfigLabels, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The labels of the image hold a configuration that cannot be used.",
		Example: Problem{Path: "spec.distribution.image", Type: field.ErrorTypeInvalid, Value: "quay.io/example/server:1.0", Detail: "the label is not YAML"},
		Remedy:  "Use an image with correct labels, or `spec.overrideConfig`.",
	},
	{
		Reason: ReadingImageLabels, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The operator asks the registry for the labels of the image, and has no answer yet.",
		Example: Problem{
			Path: "spec.distribution", Detail: "the registry is being asked for the labels of image quay.io/example/server:1.0", Fix: "waiting for its answer",
		},
		Remedy: "Usually nothing: the registry answers, or the operator gives up after a minute and reports why.",
	},
	{
		Reason: RegistryUnavailable, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true, BySettings: true,
		Meaning: "The labels of the image could not be read, because the registry does not answer or asks for fewer requests. The operator tries again.",
		Example: Problem{
			Path: "spec.distribution", Detail: "the labels of the image could not be read: image quay.io/example/server:1.0: no answer in time", Fix: waysOut,
		},
		Remedy: "Usually nothing: what runs keeps running, and the operator asks again within minutes. If the operator cannot reach the registry, register the " +
			"image with its base configuration, or set `readLabels: false` in the operator's settings.",
	},
	{
		Reason: RegistryUnauthorized, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true, BySettings: true,
		Meaning: "The registry does not let the operator read the image with the pod's credentials. Registries also answer so if an image does not exist.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeForbidden,
			Detail: "the labels of the image could not be read: image quay.io/example/server:1.0: the registry answers 401 Unauthorized", Fix: waysOut,
		},
		Remedy: "Check the name of the image, and the Secrets in `spec.workload.imagePullSecrets` or of the pod's ServiceAccount.",
	},
	{
		Reason: RegistryForbidden, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true, BySettings: true,
		Meaning: "The operator may not ask the registry: its settings do not allow it, or the registry has an address of the machine itself.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeForbidden,
			Detail: "image quay.io/example/server:1.0: registry quay.io is not among those that the operator's settings allow: registry.example.com", Fix: waysOut,
		},
		Remedy: "Use an image of an allowed registry, or ask the administrator to name the registry under `registries` in the operator's settings.",
	},
	{
		Reason: ImageNotFound, Class: WaitingForDependency, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The registry has no such image, tag or digest.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeNotFound, Value: "quay.io/example/server:1.0",
			Detail: "the registry answers 404 Not Found", Fix: "correct the image, or push it",
		},
		Remedy: "Correct the image, or push it. The operator looks again within an hour, and at once when you edit the resource.",
	},
	{
		Reason: InvalidImage, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "What the registry has under this name is not an image that can run here.",
		Example: Problem{
			Path: "spec.distribution", Type: field.ErrorTypeInvalid, Value: "quay.io/example/server:1.0",
			Detail: "it has no image for linux/amd64, only for: linux/arm64", Fix: "use another image",
		},
		Remedy: "Use an image for the platform of the nodes.",
	},
	{
		Reason: InvalidBaseConfig, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The base configuration of the distribution cannot be used: it is broken, or has a schema version that this operator does not know.",
		Example: Problem{Path: "config.yaml: providers", Type: field.ErrorTypeInvalid, Detail: "must be a map", Fix: "correct the base configuration"},
		Remedy:  "Correct the base configuration in the operator's settings, or use another distribution.",
	},
	{
		Reason: InvalidOperatorSettings, Class: Terminal, Conditions: inConfigGenerated, Elsewhere: true,
		Meaning: "The operator's settings cannot be used.",
		Example: Problem{Path: "operator settings: image-overrides", Type: field.ErrorTypeInvalid, Detail: "not YAML", Fix: "correct it there"},
		Remedy:  "The operator's administrator corrects the ConfigMap.",
	},
}

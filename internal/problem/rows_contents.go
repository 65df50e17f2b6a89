// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

var contentRows = []Row{
	{
		Reason: DuplicateProviderID, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "Two providers have one id.",
		Example: Problem{
			Path: "spec.providers.inference[1].id", Type: field.ErrorTypeDuplicate, Value: "vllm",
			Detail: "ids must be unique over all APIs, and this one is used by spec.providers.inference[0] and " +
				"spec.providers.inference[1]",
			Fix: "use unique ids",
		},
		Remedy: "Give each provider an id of its own.",
	},
	{
		Reason: UnknownProviderType, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The release line does not know the provider type. A warning where the image may bring the type itself.",
		Example: Problem{
			Path: "spec.providers.inference[0].provider", Type: field.ErrorTypeNotSupported, Value: "vlm",
			Detail: "release line 0.7 has no provider type remote::vlm for inference",
			Fix:    "did you mean \"vllm\"? If the image provides this type, write it in full: remote::vlm",
		},
		Remedy: "Choose a type of docs/providers.md, or an image that brings the type.",
	},
	{
		Reason: DeprecatedProviderType, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The server will lose this provider type.",
		Example: Problem{
			Severity: Warning, Path: "spec.providers.vectorIo[0].provider",
			Detail: "release line 0.7 still has inline::sqlite_vec, but deprecates it",
			Fix: "change to another provider: this release line has chromadb, elasticsearch, faiss, infinispan, " +
				"milvus, oci, pgvector, qdrant, sqlite-vec, weaviate",
		},
		Remedy: "Change to another provider.",
	},
	{
		Reason: LiteralSecret, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "A secret stands in the spec itself, where many can read it.",
		Example: Problem{
			Severity: Warning, Path: "spec.providers.inference[0].settings.api_token",
			Detail: "is a secret, and anyone who can read the custom resource or its ConfigMap can read it",
			Fix:    "put it into a Secret, and refer to it with apiKey or secretRefs",
		},
		Remedy: "Put it into a Secret, and refer to it with `apiKey`, `secretRefs`, or the `valueFrom` of a variable.",
	},
	{
		Reason: SharedStorageLocation, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "Two providers or backends would share a storage location. A warning where another custom resource has " +
			"the same database with the same user: the servers then read and change each other's models, prompts, " +
			"conversations and files. Both get the warning.",
		Example: Problem{
			Path: "spec.providers.vectorIo[2]", Type: field.ErrorTypeForbidden,
			Detail: "vector_io/b and vector_io/c would share the storage location file /data/one.db",
			Fix:    "set a different namespace, table or file for each under settings",
		},
		Remedy: "Give each a namespace, table or file of its own. For the warning: create a database for each custom " +
			"resource, and name it in the Secret of its connection string; with Redis, run one for each. Ignore the warning " +
			"if they share their state on purpose.",
	},
	{
		Reason: EphemeralState, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "State is lost or differs between pods, or between the workers of a pod.",
		Example: Problem{
			Severity: Warning, Path: "spec.workload.storage",
			Detail: "the PVC can be mounted by one node at a time: pods on other nodes do not start, and an edit stops all " +
				"pods before it starts new ones",
			Fix: "use one replica; keep the state in spec.storage and remove it; or set accessModes to [ReadWriteMany] in a " +
				"new custom resource",
		},
		Remedy: "Use one replica, or keep the state in a database.",
	},
	{
		Reason: UnknownProvider, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "A model, tool, shield or vector store names a provider that neither the spec nor the base configuration " +
			"has.",
		Example: Problem{
			Path: "spec.resources.shields[0].provider", Type: field.ErrorTypeNotFound, Value: "guard",
			Detail: "there is no safety provider with this id",
			Fix: "did you mean \"llama-guard\"? configure it under spec.providers.safety, or name one of code-scanner, " +
				"llama-guard",
		},
		Remedy: "Name one of the providers of the message, or configure the provider.",
	},
	{
		Reason: ProviderNotEnabled, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "A provider that is used is enabled only by an environment variable. A warning where the server starts " +
			"all the same.",
		Example: Problem{
			Severity: Warning, Path: "spec.resources.models[0].provider",
			Detail: "is enabled only if the environment variable VLLM_URL is set; without it, the server omits the model",
			Fix:    "configure vllm under spec.providers.inference, or set VLLM_URL in spec.workload.overrides.env",
		},
		Remedy: "Configure the provider under `spec.providers`, or set the variable in `spec.workload.overrides.env`.",
	},
	{
		Reason: DisabledAPI, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The spec uses an API that it disables, or disables what others need. A warning where the server starts " +
			"all the same.",
		Example: Problem{
			Severity: Warning, Path: "spec.resources.shields",
			Detail: "is ignored, because spec.disabled names safety",
			Fix:    "remove one of the two",
		},
		Remedy: "Remove the use, or the name in `spec.disabled`.",
	},
	{
		Reason: UndefinedVariable, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The configuration refers to an environment variable that the spec does not set.",
		Example: Problem{
			Severity: Warning, Path: "spec.providers.inference[0].endpoint",
			Detail: "refers to the environment variable HOST, which the spec does not set: unless the image sets it, the " +
				"server does not start",
			Fix: "set it in spec.workload.overrides.env, or give it a default: ${env.HOST:=…}",
		},
		Remedy: "Set the variable in `spec.workload.overrides.env`, or give it a default.",
	},
	{
		Reason: BrokenReference, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The spec or the configuration refers to a provider, model, API or storage backend that the configuration " +
			"does not have.",
		Example: Problem{
			Path: "spec.resources.shields[0].model", Type: field.ErrorTypeNotFound, Value: "gone",
			Detail: "is not a registered model",
			Fix:    "register a Llama Guard model under spec.resources.models, and write {id, model} with its name",
		},
		Remedy: "Configure what is missing, or choose another distribution.",
	},
}

// SPDX-License-Identifier: Apache-2.0

package limits

// Limits of a LlamaStackDistribution.
const (
	// OpenFieldLevels is the maximum nesting of an open field: an API under spec.providers or an item of spec.resources.
	OpenFieldLevels = 64
	// OpenFieldNodes is the maximum number of values (objects, lists and scalars) in all open fields of one spec together.
	OpenFieldNodes = 20_000
	// ProvidersPerAPI is the maximum number of providers of one API.
	ProvidersPerAPI = 100
	// ExternalProviders is the maximum number of spec.externalProviders: each adds an image and an init container.
	ExternalProviders = 20
	// Models, Tools and Shields are the maximum lengths of the lists in spec.resources.
	Models  = 1_000
	Tools   = 1_000
	Shields = 1_000
	// VectorStores is the maximum length of spec.resources.vectorStores: the server registers each one at startup.
	VectorStores = 200
	// PolicyRules is the maximum number of rules in a policy of spec.auth: each rule is compared with those before it.
	PolicyRules = 200
	// Containers is the maximum length of spec.workload.overrides.sidecars and .initContainers.
	Containers = 20
	// EnvironmentEntries is the maximum length of spec.workload.overrides.env.
	EnvironmentEntries = 200
	// Items is the maximum length of every other list of the spec, such as volumes, arguments and namespaces.
	Items = 1_000
	// References is the maximum number of Secrets, and of ConfigMaps and Secrets of overrides, that a reconcile reads.
	References = 200
	// ReferencedBytes is the maximum total size of the referenced objects with metadata, and of the image pull Secrets.
	ReferencedBytes = 8 << 20
	// PullSecretValues is the maximum number of values in all image pull Secrets; a registry has up to six.
	PullSecretValues = 10_000
	// CredentialBytes is the maximum length of the credentials for one registry.
	CredentialBytes = 16 << 10
	// EndpointReferences is the maximum number of objects in endpointFrom fields of one spec: each reconcile reads all.
	EndpointReferences = 50
	// ImageBytes is the maximum length of an image reference. Registry, repository, tag and digest need below 800 bytes.
	ImageBytes = 1 << 10
	// Shares is the maximum number of resources that share the requests for a host name: an HTTPRoute has no more
	// backends.
	Shares = 16
	// DisabledNames is the maximum length of spec.disabled.
	DisabledNames = 50
)

// Limits of the operator's settings.
const (
	// EdgeNamespaces is the maximum number of namespaces in the setting edge.
	EdgeNamespaces = 50
	// Registrations is the maximum number of ConfigMaps that register distributions, each with up to ConfigBytes.
	Registrations = 100
	// RegisteredBytes is the memory limit of all registered configurations: texts plus ValueBytes for each value.
	RegisteredBytes = 20_000_000
	// ValueBytes is the approximate memory of a parsed YAML value without its text.
	ValueBytes = 160
)

// Limits of what the operator writes.
const (
	// ConfigBytes is the maximum size of config.yaml, generated or given. A ConfigMap holds 1 MiB.
	ConfigBytes = 1_000_000
	// MessageBytes is the maximum length of the text of a problem, an Event or a rejection.
	MessageBytes = 1 << 10
	// NamesInMessage is the maximum number of names in a message.
	NamesInMessage = 20
	// Problems is the maximum number of problems in one report.
	Problems = 50
	// UnhealthyServers is the maximum number of custom resources that a metric names.
	UnhealthyServers = 1_000
)

// Limits of texts that contain a configuration: base configurations, overrides, image labels, operator settings.
const (
	// DocumentLevels is the maximum nesting of such a text.
	DocumentLevels = 100
	// PackageBytes is the maximum size of the file that describes an external provider's package.
	PackageBytes = 64 << 10
	// ProviderWheels is the maximum number of wheels in that package, and WheelPathBytes the maximum length of a path.
	ProviderWheels = 500
	WheelPathBytes = 1 << 10
	// DocumentNodes is the maximum number of values in such a text, aliases expanded.
	DocumentNodes = 100_000
)

// Limits of whole objects.
const (
	// ObjectLevels is the maximum nesting of a spec: an open field lies at most four levels deep in it.
	ObjectLevels = OpenFieldLevels + 4
	// SpecNodes is the maximum number of values in a whole spec, open and typed fields together.
	SpecNodes = 100_000
	// StoredLevels is the maximum nesting that the API server's decoder and Go's JSON decoder accept.
	StoredLevels = 10_000
)

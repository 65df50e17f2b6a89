// SPDX-License-Identifier: Apache-2.0

package limits

// Limits of a LlamaStackDistribution.
const (
	// OpenFieldLevels is how deep one open field of the spec may nest: an API under spec.providers, or an item of
	// spec.resources. A scalar has no level, {} has one.
	OpenFieldLevels = 64
	// OpenFieldNodes is how many values (objects, lists and scalars) all open fields of one spec may hold together.
	OpenFieldNodes = 20_000
	// ProvidersPerAPI is how many providers one API may have.
	ProvidersPerAPI = 100
	// ExternalProviders is how many providers spec.externalProviders may have: each is an image, and a container that runs
	// before the server.
	ExternalProviders = 20
	// Models, Tools and Shields are how many items each list of spec.resources may have.
	Models  = 1_000
	Tools   = 1_000
	Shields = 1_000
	// VectorStores is how many items spec.resources.vectorStores may have: the server registers each when it starts.
	VectorStores = 200
	// PolicyRules is how many rules each policy of spec.auth may have: each is compared with those before it.
	PolicyRules = 200
	// EnvironmentEntries is how many entries spec.workload.overrides.env may have.
	EnvironmentEntries = 200
	// Items is how many items each other list of the spec may have, such as volumes, arguments and namespaces: far more
	// than servers have that run, and few enough that the objects of all together stay small.
	Items = 1_000
	// References is how many Secrets, and how many ConfigMaps and Secrets of the overrides, one spec may refer to: each is
	// read from the API server in every reconcile.
	References = 200
	// ReferencedBytes is how many bytes these may have together, with their metadata, and how many those with credentials
	// for the images: they are in memory while the custom resource is reconciled.
	ReferencedBytes = 8 << 20
	// PullSecretValues is how many values all Secrets with credentials for the images of a custom resource may hold: a
	// registry has up to six.
	PullSecretValues = 10_000
	// CredentialBytes is how long the credentials for one registry may be: they are kept as long as its image is asked
	// for.
	CredentialBytes = 16 << 10
	// EndpointReferences is how many objects one spec may take endpoints from: each is read from the API server in every
	// reconcile.
	EndpointReferences = 50
	// ImageBytes is how long the reference of an image may be. Registry, repository, tag and digest make less than 800
	// bytes.
	ImageBytes = 1 << 10
	// DisabledNames is how many names spec.disabled may have.
	DisabledNames = 50
)

// Limits of the operator's settings.
const (
	// EdgeNamespaces is how many namespaces the setting edge may let in.
	EdgeNamespaces = 50
	// Registrations is how many ConfigMaps of their own may register distributions: each can have ConfigBytes.
	Registrations = 100
	// RegisteredBytes is how much memory the configurations of all of them may take together: their texts, and ValueBytes
	// for each value. Those that the project makes take some 130 kB each.
	RegisteredBytes = 20_000_000
	// ValueBytes is about what a value of a parsed YAML document takes in memory, beside its text.
	ValueBytes = 160
)

// Limits of what the operator writes.
const (
	// ConfigBytes is the largest config.yaml, generated or given. A ConfigMap holds 1 MiB.
	ConfigBytes = 1_000_000
	// MessageBytes is the longest text of a problem, an Event or a rejection. A condition can hold several problems.
	MessageBytes = 1 << 10
	// NamesInMessage is how many names a message lists.
	NamesInMessage = 20
	// Problems is how many problems are reported at once.
	Problems = 50
)

// Limits of texts from which a configuration is read: base configurations, overrides, labels of images, the operator's
// settings.
const (
	// DocumentLevels is how deep such a text may nest.
	DocumentLevels = 100
	// PackageBytes is the largest file that describes the package of an external provider.
	PackageBytes = 64 << 10
	// ProviderWheels is how many wheels that package may have, and WheelPathBytes how long the path of each may be.
	ProviderWheels = 500
	WheelPathBytes = 1 << 10
	// DocumentNodes is how many values such a text may hold, aliases expanded.
	DocumentNodes = 100_000
)

// Limits of whole objects.
const (
	// ObjectLevels is how deep a spec may nest: an open field lies at most four levels deep in it.
	ObjectLevels = OpenFieldLevels + 4
	// SpecNodes is how many values a whole spec may hold: its open fields, and what is typed, such as volumes and
	// variables.
	SpecNodes = 100_000
	// StoredLevels is how deep an object can nest that the API server stores; its decoder and Go's have this limit.
	StoredLevels = 10_000
)

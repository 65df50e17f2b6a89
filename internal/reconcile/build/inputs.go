// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Inputs are everything that the desired state depends on. Package gather fills them.
type Inputs struct {
	CR   *v1alpha2.LlamaStackDistribution
	Spec *parse.Spec
	// Legacy has the fields that only v1alpha1 has, as conversion kept them in CR.
	Legacy v1alpha2.LegacySettings
	// Distribution is the resolved spec.distribution, or nil if unknown; unreadable image labels are missing in it.
	Distribution *settings.Distribution
	// Unresolved reports an unknown distribution, or unknown image labels that are needed; other fields are still checked.
	Unresolved bool
	// LabelsUnread reports that needed image labels were not read, so that the base configuration is unknown here.
	LabelsUnread bool
	// Packages are the packages of external providers by the image in the spec; a missing entry is still being read.
	Packages map[string]serverconfig.PackageResult
	// PackagesUnread reports that packages in images were not read, so that an unknown one is not a problem.
	PackagesUnread bool
	// Mirrors are the mirrors of images; Distribution already has its mirror.
	Mirrors settings.Mirrors
	// OperatorImage is the operator's image, set if there are external providers.
	OperatorImage string
	Secrets       []SecretFact
	Endpoints     []EndpointFact
	// Override is the result of reading spec.overrideConfig, or nil if unset or unreadable.
	Override *OverrideFact
	// EnvFromDefaults reports that the envFrom of CR comes from the operator's settings.
	EnvFromDefaults bool
	// PodReferences are the Secrets and ConfigMaps of the pods' overrides, found or not; AddPodReference adds them.
	PodReferences []PodReferenceFact
	// podsHash hashes Secrets and the content of PodReferences, and configMapsHash only that of ConfigMaps; nil without
	// any.
	podsHash, configMapsHash *secret.Hash
	// NetworkPolicyFlag is the operator's feature flag enableNetworkPolicy, or nil if unset.
	NetworkPolicyFlag *bool
	Forbidden         []settings.Restriction
	// Edge is the operator's setting for exposing servers.
	Edge settings.Edge
	// ClusterName is the name of the cluster for telemetry; may be empty.
	ClusterName string
	// EdgeAPIs are the cluster's APIs to expose servers.
	EdgeAPIs objects.EdgeAPIs
	// OlderWithHost is an older custom resource with the same host, or nil.
	OlderWithHost *types.NamespacedName
	// OperatorNamespace is the operator's namespace; empty in tools without a cluster.
	OperatorNamespace string
	// CABundle is the result of reading spec.networking.tls.caBundle, else the PlatformCABundle, else nil.
	CABundle *CABundleFact
	// CABundles are the results of reading AllCABundles.
	CABundles []CABundleFact
	// ServiceCA has the certificates of ServiceBundle in the namespace as PEM, or is empty.
	ServiceCA string
	// Certificate is the result of reading spec.networking.tls.secretName, or nil without TLS or if unreadable.
	Certificate *CertificateFact
	// Claim is the result of reading spec.workload.storage.claimName, or nil without one or if unreadable.
	Claim *ClaimFact
	// ModelCacheClaim is the result of reading spec.workload.modelCache.claimName, or nil without one or if unreadable.
	ModelCacheClaim *ClaimFact
	// ModelCacheDefault reports that the model cache of CR comes from the operator's settings.
	ModelCacheDefault bool
	// Now is the time of the reconcile, for the validity of certificates.
	Now time.Time
	// ClusterAssignsUserIDs reports that the cluster assigns user IDs to pods (OpenShift).
	ClusterAssignsUserIDs bool
	// HashKey is the operator's random key for hashes of secret values; empty in tools without a cluster.
	HashKey secret.Value
	Build   string
	// Databases are the result of FindDatabases, with other custom resources that use them.
	Databases []Database
	// Peers are the custom resources that share the requests for the host name, sorted by name.
	Peers []Peer
	// Live is the live Deployment, or nil.
	Live *appsv1.Deployment
	// LiveConfigMissing reports that a generated object that Live needs was deleted.
	LiveConfigMissing bool
}

// NewInputs returns inputs with the parsed spec of the resource.
func NewInputs(cr *v1alpha2.LlamaStackDistribution) *Inputs {
	return &Inputs{CR: cr, Spec: parse.Parse(&cr.Spec), Legacy: v1alpha2.Legacy(cr)}
}

// CompleteWorkload completes a copy of the spec by defaults of the operator's settings.
func (in *Inputs) CompleteWorkload(defaults *settings.PodDefaults) {
	completed := defaults.Complete(in.CR.Spec.Workload)
	if completed == in.CR.Spec.Workload {
		return
	}
	in.EnvFromDefaults = defaults.HasEnvFromFor(in.CR.Spec.Workload)
	in.complete(func(spec *v1alpha2.LlamaStackDistributionSpec) { spec.Workload = completed })
}

// complete changes a copy of the spec.
func (in *Inputs) complete(change func(*v1alpha2.LlamaStackDistributionSpec)) {
	cr, spec := *in.CR, *in.Spec
	change(&cr.Spec)
	spec.Source = &cr.Spec
	in.CR, in.Spec = &cr, &spec
}

// CompleteProxy completes a copy of the spec by the proxy of the operator's settings.
func (in *Inputs) CompleteProxy(defaults *v1alpha2.ProxySpec) {
	if defaults == nil {
		return
	}
	networking := ptr.Deref(in.CR.Spec.Networking, v1alpha2.NetworkingSpec{})
	networking.Proxy = settings.CompleteProxy(networking.Proxy, defaults)
	in.complete(func(spec *v1alpha2.LlamaStackDistributionSpec) { spec.Networking = &networking })
}

// CompleteModelCache completes a copy of the spec by the model cache of the operator's settings; image may be empty.
func (in *Inputs) CompleteModelCache(image string) {
	if image == "" || workloadOf(in).ModelCache != nil {
		return
	}
	workload := workloadOf(in)
	workload.ModelCache = &v1alpha2.ModelCacheSpec{Image: &image}
	in.complete(func(spec *v1alpha2.LlamaStackDistributionSpec) { spec.Workload = &workload })
	in.ModelCacheDefault = true
}

func workloadOf(in *Inputs) v1alpha2.WorkloadSpec {
	return ptr.Deref(in.CR.Spec.Workload, v1alpha2.WorkloadSpec{})
}

// SecretCount returns the number of references to Secrets.
func (in *Inputs) SecretCount() int {
	count := len(in.Secrets)
	for i := range in.PodReferences {
		if in.PodReferences[i].Ref.Kind == objects.KindSecret {
			count++
		}
	}
	if in.Certificate != nil {
		count++
	}
	return count
}

// SecretFact is the result of reading a secret reference.
type SecretFact struct {
	// Use is the reference and its field.
	Use serverconfig.SecretUse
	Lookup
	// Value is the value if State is Found; empty without a cluster.
	Value secret.Value
}

// Desired is the desired state.
type Desired struct {
	// Distribution is the resolved spec.distribution, or the one with the image of release 0.9.
	Distribution *settings.Distribution
	// Config is the generated configuration, or nil if the image runs its own.
	Config *serverconfig.Result
	// Override is the user's parsed configuration, and OverrideContent its text; nil if the spec names none.
	Override        *serverconfig.Override
	OverrideContent []byte
	// OverrideEdited reports that OverrideContent has the workers of a v1alpha1 resource added.
	OverrideEdited bool
	// ConfigMapName is the ConfigMap of the server's configuration; empty if the image runs its own.
	ConfigMapName string
	Objects       []objects.Object
	Expose        parse.Expose
	// Held are objects that stay as they are: neither applied nor pruned.
	Held []objects.Object
	Edge settings.Edge
	// Peers are the names of the custom resources that share the requests for the host name.
	Peers []string
	// RemoteStores are the stores of the server in PostgreSQL or Redis.
	RemoteStores []serverconfig.RemoteStore
	// Certificate is the server's certificate, or nil if unknown.
	Certificate *ServerCertificate
	// RequeueAt is when the certificate starts or stops being valid; zero if unknown.
	RequeueAt time.Time
	// HeldBuild is the build that made the live Deployment, if hold keeps it after an operator upgrade; else empty.
	HeldBuild string
	// RolledBack is why the pod template of these inputs could not start, if hold keeps the former one; else empty.
	RolledBack string
	// InputHash is the keyed hash of everything that the objects are made from.
	InputHash string

	// SecretsHash is the hash on pods that use SecretValues, which include derived values.
	SecretsHash  string
	SecretValues []secret.Value

	// beside are the external providers to install beside Override.
	beside   []serverconfig.ExternalProvider
	problems report
}

// TLS returns the TLS settings of the server's configuration; empty if the configuration is unknown.
func (d *Desired) TLS() serverconfig.TLS {
	switch {
	case d.Override != nil:
		return d.Override.TLS
	case d.Config != nil:
		return d.Config.TLS
	case d.Distribution != nil && d.Distribution.Base != nil:
		return serverconfig.TLSOf(d.Distribution.Base)
	}
	return serverconfig.TLS{}
}

// Auth returns the authentication of the server's configuration; empty if the configuration is unknown.
func (d *Desired) Auth() serverconfig.Auth {
	switch {
	case d.Override != nil:
		return d.Override.Auth
	case d.Config != nil:
		return d.Config.Auth
	case d.Distribution != nil && d.Distribution.Base != nil:
		return serverconfig.AuthOf(d.Distribution.Base)
	}
	return serverconfig.Auth{}
}

// Scheme returns the server's protocol.
func (d *Desired) Scheme() corev1.URIScheme {
	if d.TLS().Enabled() {
		return corev1.URISchemeHTTPS
	}
	return corev1.URISchemeHTTP
}

// largeInputs is the threshold of IsLarge in bytes; most custom resources are far smaller.
const largeInputs = 32 << 10

// IsLarge reports whether the spec and its ConfigMaps and secret values exceed largeInputs.
func IsLarge(in *Inputs) bool {
	size := 0
	if spec, err := json.Marshal(&in.CR.Spec); err == nil {
		size = len(spec)
	}
	if in.Override != nil {
		size += len(in.Override.Content)
		for _, content := range in.Override.Files {
			size += len(content)
		}
	}
	if in.CABundle != nil {
		for _, text := range in.CABundle.Data {
			size += len(text)
		}
	}
	for i := range in.CABundles {
		for _, text := range in.CABundles[i].Data {
			size += len(text)
		}
	}
	for i := range in.Secrets {
		size += in.Secrets[i].Value.Len()
	}
	for i := range in.PodReferences {
		for _, value := range in.PodReferences[i].Values {
			size += value.Len()
		}
	}
	return size > largeInputs
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Inputs is everything that decides what shall exist. NewInputs begins it, and package gather fills it, once per pass.
type Inputs struct {
	// CR is the resource.
	CR *v1alpha2.LlamaStackDistribution
	// Spec is the spec of CR, parsed.
	Spec *parse.Spec
	// Legacy is what only v1alpha1 can say, as conversion left it in CR.
	Legacy v1alpha2.LegacySettings
	// Distribution is what spec.distribution resolves to; nil where the operator's settings have none, or are not known.
	// Where the labels of its image cannot be read, it lacks what they say.
	Distribution *settings.Distribution
	// Unresolved is true where the operator's settings have no distribution for the resource, or the labels of its image
	// count and are not known. What else is wrong with it can be judged.
	Unresolved bool
	// LabelsUnread is true where the labels of the image count and nobody asked for them, so that a base configuration may
	// be known elsewhere.
	LabelsUnread bool
	// Packages is what is known of the packages of external providers, by image as the spec names it. One that is missing
	// is being read.
	Packages map[string]serverconfig.PackageFound
	// PackagesUnread is true where nobody asked for the packages in images, so that an unknown one is not a problem.
	PackagesUnread bool
	// Mirrors are where images are found instead of where they are named. That of Distribution is its own already.
	Mirrors settings.Mirrors
	// OperatorImage is the operator's own image, where there are external providers.
	OperatorImage string
	// Secrets are the secret values that the spec refers to, found or not.
	Secrets []SecretFact
	// Endpoints are the objects that the spec takes endpoints from, found or not.
	Endpoints []EndpointFact
	// Override is what was found at spec.overrideConfig; nil where the spec has none, or where it cannot be known.
	Override *OverrideFact
	// EnvFromDefaults reports that the envFrom of CR is that of the operator's settings.
	EnvFromDefaults bool
	// PodReferences are the Secrets and ConfigMaps that the overrides bring into the pods, found or not, as
	// AddPodReference adds them.
	PodReferences []PodReferenceFact
	// podsHash is the hash of Secrets and of what PodReferences hold; nil where there are none.
	podsHash *secret.Hash
	// NetworkPolicyFlag is the operator's feature flag enableNetworkPolicy; nil where it is not set.
	NetworkPolicyFlag *bool
	// Forbidden is what the operator's settings forbid.
	Forbidden []settings.Restriction
	// Edge is the operator's setting of how servers are exposed.
	Edge settings.Edge
	// EdgeAPIs are the APIs of the cluster by which servers can be exposed.
	EdgeAPIs objects.EdgeAPIs
	// Elder is an older custom resource that uses the same host; nil where there is none, or where nobody could know.
	Elder *types.NamespacedName
	// OperatorNamespace is the operator's namespace; empty in tools without a cluster.
	OperatorNamespace string
	// CABundle is what was found at spec.networking.tls.caBundle, else the PlatformCABundle; nil where there is neither,
	// or where nobody could know.
	CABundle *CABundleFact
	// ServiceCA is the certificates of the ConfigMap ServiceBundle in the namespace, as PEM; empty where there are none.
	ServiceCA string
	// Certificate is what was found at spec.networking.tls.secretName; nil where TLS is not enabled, or where it could not
	// be read.
	Certificate *CertificateFact
	// Now is the time of the reconcile, which decides whether a certificate is valid.
	Now time.Time
	// ClusterAssignsUserIDs is true where the cluster gives pods their user id (OpenShift).
	ClusterAssignsUserIDs bool
	// HashKey is the operator's random key for hashes that depend on secret values. It is empty in tools without a
	// cluster: what derives from it reads secret.OnCluster there.
	HashKey secret.Value
	// Build is the build of the operator.
	Build string
	// Live is the Deployment as it stands in the cluster; nil where there is none.
	Live *appsv1.Deployment
	// LiveConfigMissing is true where something that the operator made and Live needs is gone: its configuration, CA
	// certificates or derived secret values.
	LiveConfigMissing bool
}

// NewInputs returns inputs that hold what the resource itself says. This is where its open fields are parsed, once per
// pass.
func NewInputs(cr *v1alpha2.LlamaStackDistribution) *Inputs {
	return &Inputs{CR: cr, Spec: parse.Parse(&cr.Spec), Legacy: v1alpha2.Legacy(cr)}
}

// CompleteWorkload completes the spec by defaults of the operator's settings. The custom resource itself stays as it
// is.
func (in *Inputs) CompleteWorkload(defaults *settings.PodDefaults) {
	completed := defaults.Complete(in.CR.Spec.Workload)
	if completed == in.CR.Spec.Workload {
		return
	}
	in.EnvFromDefaults = defaults.HasEnvFromFor(in.CR.Spec.Workload)
	cr, spec := *in.CR, *in.Spec
	cr.Spec.Workload = completed
	spec.Source = &cr.Spec
	in.CR, in.Spec = &cr, &spec
}

// SecretCount is the number of references to Secrets.
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

// SecretFact is what was found at a secret reference.
type SecretFact struct {
	// Use is who refers to what.
	Use serverconfig.SecretUse
	// Lookup is what was found.
	Lookup
	// Value is the value where State is Found; empty where there is no cluster to read it from.
	Value secret.Value
}

// Desired is what shall exist.
type Desired struct {
	// Distribution is what runs: what spec.distribution resolves to, or with the image that release 0.9 left.
	Distribution *settings.Distribution
	// Config is the generated configuration; nil where the image runs its own.
	Config *serverconfig.Result
	// Override is what the user's own configuration says, and OverrideContent its text; nil where the spec gives none.
	Override        *serverconfig.Override
	OverrideContent []byte
	// OverrideEdited reports that the text has the number of workers of a resource of v1alpha1, which the user's does not
	// have.
	OverrideEdited bool
	// ConfigMapName is the name of the ConfigMap that the server's configuration is in; empty where the image runs its own
	// configuration.
	ConfigMapName string
	// Objects are the objects to apply, in this order.
	Objects []objects.Object
	// Expose is the way in from outside of the cluster.
	Expose parse.Expose
	// Held are objects that stay as they are in the cluster: neither applied nor pruned.
	Held []objects.Object
	// Edge is how the server is exposed, where it is.
	Edge settings.Edge
	// Certificate is the certificate that the server shows; nil where the operator does not know it.
	Certificate *ServerCertificate
	// Recheck is when the certificate begins or ends to be valid, without an event; zero where that is not known.
	Recheck time.Time
	// HeldBuild is the build that made the live Deployment, when that is kept as it is although this build would make
	// another: an upgrade of the operator rolls nothing. Empty otherwise.
	HeldBuild string

	// SecretsHash is the hash that the pods carry which get the values of SecretValues, those that are made of others
	// included.
	SecretsHash  string
	SecretValues []secret.Value

	problems report
}

// TLS is what the server's configuration says about encryption: the generated one, the user's own, or the base that the
// image runs unchanged. Of an image with a configuration that is not known it says nothing.
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

// Auth is what the server's configuration says about who may call it; empty where nobody knows the configuration.
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

// Scheme is the server's protocol.
func (d *Desired) Scheme() corev1.URIScheme {
	if d.TLS().Enabled() {
		return corev1.URISchemeHTTPS
	}
	return corev1.URISchemeHTTP
}

// largeInputs is the size from which IsLarge reports true, in bytes. The inputs of most custom resources are far
// smaller.
const largeInputs = 32 << 10

// IsLarge reports whether the spec, the ConfigMaps and the values of Secrets that a custom resource is built from are
// large together.
func IsLarge(in *Inputs) bool {
	size := 0
	if spec, err := json.Marshal(&in.CR.Spec); err == nil {
		size = len(spec)
	}
	if in.Override != nil {
		size += len(in.Override.Content)
	}
	if in.CABundle != nil {
		for _, text := range in.CABundle.Data {
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

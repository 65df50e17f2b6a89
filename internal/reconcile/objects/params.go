// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Params are the inputs of the builders.
type Params struct {
	CR    *v1alpha2.LlamaStackDistribution
	Image string
	// ClaimModes are the access modes of the PVC in spec.workload.storage.claimName; empty if unknown.
	ClaimModes []corev1.PersistentVolumeAccessMode
	// OwnsNamedClaim reports that the custom resource still owns that PVC, which it had made itself.
	OwnsNamedClaim bool
	// ModelCacheImage is the image of the model cache where pods pull it, and ModelCacheModes are the access modes of its
	// PVC; empty if unknown.
	ModelCacheImage string
	ModelCacheModes []corev1.PersistentVolumeAccessMode
	// LocalModels are the models that the model cache must have.
	LocalModels []string
	// StateDir is the directory of the server's state in the data volume; empty if unknown.
	StateDir string
	// Config is the configuration, or nil if the image runs its own.
	Config []byte
	// ConfigFiles are the files beside Config, by name.
	ConfigFiles map[string][]byte
	// Overridden reports that Config is the user's own and configures the state directory itself.
	Overridden bool
	// Scheme is the server's protocol; empty means HTTP.
	Scheme corev1.URIScheme
	// Certificate is the Secret with the server's certificate; empty if the operator mounts none.
	Certificate string
	// CertificateHash is the hash of that certificate, never of its key.
	CertificateHash string
	// ClientCertificates reports that the server requires client certificates.
	ClientCertificates bool
	// Legacy has the fields that only v1alpha1 has.
	Legacy            v1alpha2.LegacySettings
	Expose            parse.Expose
	OperatorNamespace string
	NetworkPolicy     bool
	// Egress are the rules for what the server connects to; none means that it is not restricted.
	Egress []networkingv1.NetworkPolicyEgressRule
	// Edge is the resolved setting for exposing servers; an empty kind means an Ingress.
	Edge settings.Edge
	// Share is the own share of the requests for the host name, and Shares are all of them; empty if they are not shared.
	Share  *Share
	Shares []Share
	// Passthrough reports that the edge forwards TLS unterminated to the server's certificate.
	Passthrough bool
	// ServerCA are the CA certificates that verify the server's certificate, as PEM; empty if unknown.
	ServerCA string
	// Env are the variables of the generated configuration.
	Env []serverconfig.EnvVar
	// Derived are the derived secret values by variable, and DerivedName the name of their Secret.
	Derived     map[string]secret.Value
	DerivedName string
	// Proxy are the variables of the HTTP proxy.
	Proxy []corev1.EnvVar
	// CABundle are the CA certificates that the server trusts, in addition to the image's.
	CABundle string
	// ProviderTLS are the Secrets and ConfigMaps with the certificates of providers.
	ProviderTLS []Reference
	// ClusterCA reports that the server calls the cluster's API server and verifies it by the namespace's CA ConfigMap.
	ClusterCA bool
	// External are the external providers in installation order, and OperatorImage is the image with the installer.
	External      []ExternalProvider
	OperatorImage string
	// PortVariables are the variables with the server's port.
	PortVariables []string
	// HomeVariables are the variables with the directory of the server's files.
	HomeVariables []string
	// MetricsVariables are the prefixes of the variables that configure metrics.
	MetricsVariables []string
	// MetricsPort is the port of the server's metrics, or 0 without metrics.
	MetricsPort int32
	// MemoryTmp reports that /tmp is in memory, because the server writes its configuration with secret values there.
	MemoryTmp bool
	// ClusterAssignsUserIDs reports that the cluster assigns user IDs to pods (OpenShift).
	ClusterAssignsUserIDs bool
	// SecretsHash is the value of AnnotationSecretsHash; empty if the pods read no such content.
	SecretsHash string
	// ConfigMapsHash is the value of AnnotationConfigMapsHash; empty without referenced ConfigMaps.
	ConfigMapsHash string
	// AdoptedImage is Image if it is an adopted image of release 0.9, else empty.
	AdoptedImage string
	// ServerLine is the server's release line; empty if unknown.
	ServerLine string
	// DatabaseHashes are the keyed hashes of the databases of the server's state.
	DatabaseHashes []string
	// InputHash is the keyed hash of everything that the objects are made from.
	InputHash string
	// FormerInputs is the InputHash of the last Deployment before this one whose pods were available, or empty.
	FormerInputs string
	Build        string
}

// Port returns the server's port.
func Port(spec *v1alpha2.LlamaStackDistributionSpec) int32 {
	if spec.Networking == nil {
		return v1alpha2.DefaultPort
	}
	return ptr.Deref(spec.Networking.Port, v1alpha2.DefaultPort)
}

// Replicas returns the desired number of pods.
func Replicas(spec *v1alpha2.LlamaStackDistributionSpec) int32 {
	if spec.Workload == nil {
		return 1
	}
	return ptr.Deref(spec.Workload.Replicas, 1)
}

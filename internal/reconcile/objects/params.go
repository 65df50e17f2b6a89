// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Params is everything that the builders need.
type Params struct {
	// CR is the resource.
	CR *v1alpha2.LlamaStackDistribution
	// Image is the container image.
	Image string
	// StateDir is the directory below the data volume in which the server keeps its state; empty where none is known.
	StateDir string
	// Config is the configuration; nil where the image runs its own.
	Config []byte
	// Overridden reports that Config is the user's own: it says itself where the server keeps its state.
	Overridden bool
	// Scheme is the server's protocol; empty means HTTP.
	Scheme corev1.URIScheme
	// Certificate is the name of the Secret with the server's certificate; empty where the operator mounts none.
	Certificate string
	// CertificateHash is the hash of that certificate, never of its key.
	CertificateHash string
	// ClientCertificates reports that the server refuses anyone who has no certificate.
	ClientCertificates bool
	// Legacy is what only v1alpha1 can say.
	Legacy v1alpha2.LegacySettings
	// Expose is the way in from outside of the cluster that is desired.
	Expose parse.Expose
	// OperatorNamespace is the operator's namespace; empty where it is not known.
	OperatorNamespace string
	// NetworkPolicy reports whether a NetworkPolicy is desired.
	NetworkPolicy bool
	// Edge is how the server is exposed, where it is: the operator's setting, with the kind that this cluster has. Any
	// kind but those of Routes, HTTPRoutes and none at all means an Ingress.
	Edge settings.Edge
	// Passthrough reports that the edge forwards TLS connections as they are: only the server has the certificate that
	// clients expect.
	Passthrough bool
	// ServerCA are the CA certificates that verify the server's certificate, as PEM; empty where they are not known.
	ServerCA string
	// Env are the variables that the server needs beside the configuration.
	Env []serverconfig.EnvVar
	// Derived is what was made of secret values, by the variable that carries it, and DerivedName the name of its Secret.
	Derived     map[string]secret.Value
	DerivedName string
	// CABundle are the CA certificates that the server trusts; empty for those of the image.
	CABundle string
	// ClusterCA reports whether the server calls the cluster's API server, and verifies it by the CA certificates that
	// every namespace has.
	ClusterCA bool
	// External are the providers that come from images of their own, in the order in which they are installed, and
	// OperatorImage is the operator's image, which has the program for that.
	External      []ExternalProvider
	OperatorImage string
	// PortVariables are the names of the variables with the server's port.
	PortVariables []string
	// HomeVariables are the names of the variables with the directory of the server's own files.
	HomeVariables []string
	// MetricsVariables are the beginnings of the names of the variables by which the server serves metrics.
	MetricsVariables []string
	// MemoryTmp reports whether /tmp is in memory: the server writes its configuration there, with the values of Secrets.
	MemoryTmp bool
	// ClusterAssignsUserIDs is true where the cluster gives pods their user id (OpenShift).
	ClusterAssignsUserIDs bool
	// SecretsHash is the keyed hash for AnnotationSecretsHash; empty where the pods read nothing of the sort.
	SecretsHash string
	// AdoptedImage is Image where release 0.9 left it and it is not the one that the operator would choose; empty
	// otherwise.
	AdoptedImage string
	// ServerLine is the release line of the server; empty where it is not known.
	ServerLine string
	// InputHash is the keyed hash of everything that the objects are made from.
	InputHash string
	// Build is the build of the operator.
	Build string
}

// Port is the port that the server listens on.
func Port(spec *v1alpha2.LlamaStackDistributionSpec) int32 {
	if spec.Networking == nil {
		return v1alpha2.DefaultPort
	}
	return ptr.Deref(spec.Networking.Port, v1alpha2.DefaultPort)
}

// Replicas is the desired number of pods.
func Replicas(spec *v1alpha2.LlamaStackDistributionSpec) int32 {
	if spec.Workload == nil {
		return 1
	}
	return ptr.Deref(spec.Workload.Replicas, 1)
}

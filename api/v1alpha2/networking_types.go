// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// DefaultPort is the port that the server listens on where the resource names none.
const DefaultPort int32 = 8321

// NetworkingSpec consolidates network configuration.
type NetworkingSpec struct {
	// Port is the port that the server listens on.
	// +optional
	// +kubebuilder:default=8321
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// TLS configures TLS for the server.
	// +optional
	TLS *TLSSpec `json:"tls,omitempty"`

	// Expose controls external access by a Route, HTTPRoute or Ingress: true, false, or an object with enabled and
	// hostname.
	// {} and {hostname: ...} mean enabled.
	// +optional
	Expose *apiextensionsv1.JSON `json:"expose,omitempty"`

	// AllowedFrom restricts access by NetworkPolicy.
	// +optional
	AllowedFrom *AllowedFromSpec `json:"allowedFrom,omitempty"`
}

// TLSSpec configures TLS.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.secretName) && self.secretName.size() > 0)",message="enabled needs a secretName: name a Secret of type kubernetes.io/tls in this namespace"
type TLSSpec struct {
	// Enabled makes the server speak TLS.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// SecretName names a Secret of type kubernetes.io/tls. Required when enabled is true.
	// +optional
	SecretName *string `json:"secretName,omitempty"`

	// CABundle names CA certificates that the server trusts when it calls providers, in addition to those of its image.
	// +optional
	CABundle *CABundleConfig `json:"caBundle,omitempty"`
}

// CABundleConfig refers to a ConfigMap with CA certificates.
type CABundleConfig struct {
	// ConfigMapName is the name of the ConfigMap that holds the CA bundle.
	// It must be in the namespace of the resource.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigMapName string `json:"configMapName"`
}

// AllowedFromSpec defines who may reach the server.
type AllowedFromSpec struct {
	// Namespaces is an explicit list of namespaces that may reach the server. "*" allows all namespaces.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Namespaces []string `json:"namespaces,omitempty"`

	// Labels is a list of namespace label keys that grant access: one of them suffices.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Labels []string `json:"labels,omitempty"`
}

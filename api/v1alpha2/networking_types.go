// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultPort is the default port of the server.
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

	// Expose configures external access with a Route, HTTPRoute or Ingress: true, false, or an object with enabled,
	// hostname, className, annotations, tls (secretName) and weight. {} and {hostname: ...} mean enabled.
	// +optional
	Expose *apiextensionsv1.JSON `json:"expose,omitempty"`

	// AllowedFrom restricts access with a NetworkPolicy.
	// +optional
	AllowedFrom *AllowedFromSpec `json:"allowedFrom,omitempty"`

	// Egress restricts what the server connects to with a NetworkPolicy.
	// +optional
	Egress *EgressSpec `json:"egress,omitempty"`

	// Proxy is the HTTP proxy for the requests of the server. An absent field is that of the operator's settings, and an
	// empty one means none.
	// +optional
	Proxy *ProxySpec `json:"proxy,omitempty"`
}

// EgressMode says what the server may connect to.
// +kubebuilder:validation:Enum=Open;Providers
type EgressMode string

const (
	// EgressOpen does not restrict the server.
	EgressOpen EgressMode = "Open"
	// EgressProviders allows what the spec names, and DNS.
	EgressProviders EgressMode = "Providers"
)

// EgressSpec restricts what the server connects to.
type EgressSpec struct {
	// Mode is Open, the default, or Providers: only the endpoints, databases, issuers, tools and the proxy in the spec,
	// and DNS.
	// +optional
	Mode *EgressMode `json:"mode,omitempty"`

	// To are further egress rules, each a NetworkPolicyEgressRule of Kubernetes. They need mode Providers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	To []apiextensionsv1.JSON `json:"to,omitempty"`
}

// ProxySpec configures an HTTP proxy.
type ProxySpec struct {
	// HTTPProxy is the URL of the proxy for http requests.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?://[^@[:space:]]+)?$')",message="must be a URL such as http://proxy.example.com:3128 without a user and a password, which would be readable: for those, set the variables from a Secret in spec.workload.overrides.env"
	HTTPProxy *string `json:"httpProxy,omitempty"`

	// HTTPSProxy is the URL of the proxy for https requests.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https?://[^@[:space:]]+)?$')",message="must be a URL such as http://proxy.example.com:3128 without a user and a password, which would be readable: for those, set the variables from a Secret in spec.workload.overrides.env"
	HTTPSProxy *string `json:"httpsProxy,omitempty"`

	// NoProxy is a list of hosts without a proxy, separated by commas. The operator adds those inside the cluster.
	// +optional
	NoProxy *string `json:"noProxy,omitempty"`
}

// TLSSpec configures TLS.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || (has(self.secretName) && self.secretName.size() > 0)",message="enabled needs a secretName: name a Secret of type kubernetes.io/tls in this namespace"
type TLSSpec struct {
	// Enabled enables TLS for the server.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// SecretName is the name of a Secret of type kubernetes.io/tls. Required if enabled is true.
	// +optional
	SecretName *string `json:"secretName,omitempty"`

	// CABundle refers to CA certificates that the server trusts for providers, in addition to those of its image.
	// +optional
	CABundle *CABundleConfig `json:"caBundle,omitempty"`

	// CABundles refer to further ConfigMaps with CA certificates.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	CABundles []CABundleKeys `json:"caBundles,omitempty"`
}

// CABundleConfig refers to a ConfigMap with CA certificates.
type CABundleConfig struct {
	// ConfigMapName is the name of the ConfigMap with the CA bundle.
	// It must be in the namespace of the resource.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigMapName string `json:"configMapName"`
}

// CABundleKeys refers to keys of a ConfigMap with CA certificates.
type CABundleKeys struct {
	// ConfigMapName is the name of the ConfigMap, in the namespace of the resource.
	// +required
	// +kubebuilder:validation:MinLength=1
	ConfigMapName string `json:"configMapName"`

	// Keys are the keys with certificates. The default is ca-bundle.crt, ca.crt, or the only key.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Keys []string `json:"keys,omitempty"`
}

// AllowedFromSpec selects the namespaces and pods with access to the server.
type AllowedFromSpec struct {
	// Namespaces is a list of namespaces with access to the server. "*" allows all namespaces.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Namespaces []string `json:"namespaces,omitempty"`

	// Labels is a list of label keys. A namespace with at least one of them has access.
	// +optional
	// +kubebuilder:validation:MaxItems=1000
	Labels []string `json:"labels,omitempty"`

	// Pods selects the pods with access in these namespaces and in that of the resource. The default is all.
	// +optional
	Pods *metav1.LabelSelector `json:"pods,omitempty"`

	// Exclusive denies access to all others but the operator: to the namespace of the resource if namespaces or labels
	// are given, and to the router or Gateway of an exposed server.
	// +optional
	Exclusive *bool `json:"exclusive,omitempty"`
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// NetworkSpec configures access to the server.
type NetworkSpec struct {
	// ExposeRoute creates an Ingress for access from outside the cluster. By default, the server is reachable only inside
	// the cluster.
	// +optional
	// +kubebuilder:default=false
	ExposeRoute *bool `json:"exposeRoute,omitempty"`

	// AllowedFrom restricts access to namespaces. The namespaces of the resource and of the operator always have access.
	// +optional
	AllowedFrom *AllowedFromSpec `json:"allowedFrom,omitempty"`
}

// AllowedFromSpec selects the namespaces that a NetworkPolicy allows: those listed by name and those with one of the
// labels.
type AllowedFromSpec struct {
	// Namespaces are names of namespaces; "*" allows all namespaces.
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// Labels are label keys. A namespace with at least one of them, with any value, has access.
	// Example: ["myproject/lls-allowed", "team/authorized"]
	// +optional
	Labels []string `json:"labels,omitempty"`
}

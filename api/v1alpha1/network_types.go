// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// NetworkSpec defines who reaches the server, and how.
type NetworkSpec struct {
	// ExposeRoute asks for an Ingress, so that the server is reached from outside the cluster.
	// By default it is reached from inside only.
	// +optional
	// +kubebuilder:default=false
	ExposeRoute *bool `json:"exposeRoute,omitempty"`

	// AllowedFrom defines which namespaces may reach the server.
	// The namespaces of the resource and of the operator always may.
	// +optional
	AllowedFrom *AllowedFromSpec `json:"allowedFrom,omitempty"`
}

// AllowedFromSpec selects the namespaces that a NetworkPolicy lets in: those listed by name and those with one of the
// labels.
type AllowedFromSpec struct {
	// Namespaces are names of namespaces; "*" stands for all namespaces.
	// +optional
	Namespaces []string `json:"namespaces,omitempty"`

	// Labels are label keys: a namespace that has at least one of them, with whatever value, is let in.
	// Example: ["myproject/lls-allowed", "team/authorized"]
	// +optional
	Labels []string `json:"labels,omitempty"`
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LlamaStackDistribution is a llama-stack server, configured by environment variables or a complete config.yaml. The
// version v1alpha2 configures providers, models and storage in the spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=llsd,categories=all;llamastack
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Operator Version",type=string,JSONPath=`.status.version.operatorVersion`
// +kubebuilder:printcolumn:name="Server Version",type=string,JSONPath=`.status.version.llamaStackServerVersion`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.server.userConfig.configMapName`
// +kubebuilder:selectablefield:JSONPath=`.spec.server.userConfig.configMapNamespace`
// +kubebuilder:selectablefield:JSONPath=`.spec.server.tlsConfig.caBundle.configMapName`
// +kubebuilder:selectablefield:JSONPath=`.spec.server.tlsConfig.caBundle.configMapNamespace`
type LlamaStackDistribution struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +required
	Spec LlamaStackDistributionSpec `json:"spec"`

	// Status is the observed state. Only the operator writes it.
	// +optional
	Status LlamaStackDistributionStatus `json:"status,omitempty"`
}

// LlamaStackDistributionList is a list of LlamaStackDistribution.
//
// +kubebuilder:object:root=true
type LlamaStackDistributionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the resources of the list.
	Items []LlamaStackDistribution `json:"items"`
}

// LlamaStackDistributionSpec is the desired state of a LlamaStackDistribution.
type LlamaStackDistributionSpec struct {
	// Replicas is the desired number of pods.
	// +optional
	// +kubebuilder:default=1
	Replicas *int32 `json:"replicas,omitempty"`

	// Server configures the llama-stack server and its pods.
	// +required
	Server ServerSpec `json:"server"`

	// Network configures access to the server.
	// +optional
	Network *NetworkSpec `json:"network,omitempty"`
}

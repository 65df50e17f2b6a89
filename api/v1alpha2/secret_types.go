// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// SecretKeyRef refers to one key of a Secret in the namespace of the resource, either as {name, key} or as
// {secretKeyRef: {name, key}}. Both mean the same; exactly one form must be complete.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretKeyRef) ? !has(self.name) && !has(self.key) && has(self.secretKeyRef.name) && has(self.secretKeyRef.key) : has(self.name) && has(self.key)",message="a secret reference is either {name, key} or {secretKeyRef: {name, key}}: give name and key in exactly one of the two forms"
type SecretKeyRef struct {
	// Name is the name of the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Name *string `json:"name,omitempty"`

	// Key is the key within the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Key *string `json:"key,omitempty"`

	// SecretKeyRef is the nested form of the reference.
	// +optional
	SecretKeyRef *SecretKeySelector `json:"secretKeyRef,omitempty"`
}

// SecretKeySelector is the nested form of a secret reference.
type SecretKeySelector struct {
	// Name is the name of the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Name *string `json:"name,omitempty"`

	// Key is the key within the Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Key *string `json:"key,omitempty"`
}

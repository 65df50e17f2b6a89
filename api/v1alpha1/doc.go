// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the llamastack.io/v1alpha1 API: the types of the LlamaStackDistribution resource as operator
// release 0.9 serves them, one file per section.
//
// Contract: an object that operator 0.9 admits is admitted unchanged, so the schema is never stricter than it was
// there. What this version has in addition is status only. Optional scalars and structs of the spec are pointers:
// absent, empty and zero are three things, and conversion keeps them apart.
//
// The package does no conversion of meaning and no validation beyond its markers, and it imports no client.
//
// +kubebuilder:object:generate=true
// +groupName=llamastack.io
package v1alpha1

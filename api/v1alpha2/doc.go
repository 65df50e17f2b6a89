// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the llamastack.io/v1alpha2 API: the types of the LlamaStackDistribution resource, one file for
// each section of its spec, and the names of its conditions and reasons. Package internal/serverconfig/parse parses the
// fields with an open schema.
//
// It also defines the conversion annotation, and Legacy, which reads settings of v1alpha1 from it. Conversion is in
// package v1alpha1.
//
// The package depends only on Kubernetes API types (core/v1 and apiextensions/v1) and API machinery, so that clients of
// the resource can import it.
//
// +kubebuilder:object:generate=true
// +groupName=llamastack.io
package v1alpha2

// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the llamastack.io/v1alpha2 API: the types of the LlamaStackDistribution resource, one file per
// section of its spec, and the names of its conditions and their reasons. Package internal/serverconfig/parse reads the
// fields whose schema is open.
//
// It also holds the format of the annotation in which conversion carries what the other version cannot say, and Legacy,
// which reads from it what v1alpha1 said and still applies. Conversion itself is in package v1alpha1.
//
// The package depends on Kubernetes' own API types (core/v1 and apiextensions/v1) and API machinery alone,
// so that any program that reads or writes the resource can import it: no client comes with it.
//
// +kubebuilder:object:generate=true
// +groupName=llamastack.io
package v1alpha2

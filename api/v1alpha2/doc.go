// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the llamastack.io/v1alpha2 API: the types of the LlamaStackDistribution resource, one file
// per section of its spec, the names of its conditions and their reasons, and typed parsers for the fields whose
// schema is open (one object or a list, a string or an object, a boolean or an object).
//
// Contract: the parsers are pure, keep the user's spelling untouched in the spec, and report every fault as a
// field.Error that carries the path, what is wrong and how to mend it. What a value means to a given server release
// is decided elsewhere (pkg/config); this package knows only the shape.
//
// It also holds the format of the annotation in which conversion carries what the other version cannot say, and Legacy,
// which reads from it what v1alpha1 said and is still in force. Conversion itself is in package v1alpha1.
//
// The package imports no client and can be used by any program that reads or writes the resource.
//
// +kubebuilder:object:generate=true
// +groupName=llamastack.io
package v1alpha2

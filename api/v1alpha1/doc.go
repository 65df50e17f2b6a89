// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the llamastack.io/v1alpha1 API: the types of the LlamaStackDistribution resource of operator
// release 0.9, one file for each section.
//
// The schema accepts every object that release 0.9 accepts, and adds only status fields. Optional scalars and structs
// of the spec are pointers, because conversion distinguishes absent, empty and zero.
//
// # Conversion
//
// ToV1alpha2 and FromV1alpha2 convert objects between this version and the storage version v1alpha2. They work on JSON
// trees, because the Go types would normalize quantities, drop empty lists and reject values that the schemas accept.
// They are
//
//   - pure: no I/O, no clock, and the argument stays unchanged and shares nothing with the result;
//   - total: no error and no panic for any tree;
//   - lossless for every object that is valid in its version, up to defaults: converting there and back returns the
//     object with its schema's defaults. The annotation v1alpha2.ConversionAnnotation keeps fields that the other
//     version does not have, unless the other version has edited them since.
//
// fieldMappings is the table of all fields; docs/migration-v1alpha1-to-v1alpha2.md shows it to users. Unknown fields
// are dropped, as the API server prunes them.
//
// The operator reads settings that only this version has with v1alpha2.Legacy.
//
// Conversion does not interpret values: environment variables stay environment variables. The package does not validate
// converted objects, and imports no client.
//
// +kubebuilder:object:generate=true
// +groupName=llamastack.io
package v1alpha1

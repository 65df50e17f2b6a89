// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the llamastack.io/v1alpha1 API: the types of the LlamaStackDistribution resource as operator
// release 0.9 serves them, one file per section.
//
// Contract: an object that operator 0.9 admits is admitted unchanged, so the schema is never stricter than it was
// there. What this version has in addition is status only. Optional scalars and structs of the spec are pointers:
// absent, empty and zero are three things, and conversion keeps them apart.
//
// # Conversion
//
// ToV1alpha2 and FromV1alpha2 convert objects between this version and v1alpha2, which is the one that is stored. They
// work on JSON trees, because the Go types would respell quantities, drop empty lists and refuse values that the
// schemas admit. They are
//
//   - pure: no I/O, no clock, the argument stays as it is and shares nothing with the result;
//   - total: no error and no panic, whatever tree they are given;
//   - lossless for every object that the schema of its version admits, up to defaults: converted there and back it is
//     what it was with its schema's defaults filled in. What the other version has no field for travels in the
//     annotation v1alpha2.ConversionAnnotation, and steps back where the field was edited through the other version
//     since.
//
// fieldMappings is the table of all fields; docs/migration-v1alpha1-to-v1alpha2.md shows it to users. Fields that
// the version does not have are left out, as the API server prunes them.
//
// What there is only for objects of this version reaches the operator through v1alpha2.Legacy.
//
// The package guesses no meaning: environment variables stay environment variables. It does no validation beyond its
// markers, validates no converted object, and imports no client.
//
// +kubebuilder:object:generate=true
// +groupName=llamastack.io
package v1alpha1

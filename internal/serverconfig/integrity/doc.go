// SPDX-License-Identifier: Apache-2.0

// Package integrity checks a complete configuration: required fields, references, storage locations, and environment
// variables. It changes only the set of variables, from which it removes overridden ones.
//
// A problem has the path of the responsible field of the spec, or a path in the configuration, "config.yaml: …".
package integrity

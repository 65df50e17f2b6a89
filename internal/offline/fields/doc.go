// SPDX-License-Identifier: Apache-2.0

// Package fields describes the fields of a LlamaStackDistribution: type, meaning, default, limits and rules.
//
// It is pure and reads the CRD. Only fields with an open schema are described here; a test compares them with package
// parse.
package fields

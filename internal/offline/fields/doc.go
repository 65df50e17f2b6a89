// SPDX-License-Identifier: Apache-2.0

// Package fields describes the fields of a LlamaStackDistribution: type, meaning, default, limits and rules.
//
// Contract: pure. Everything comes from the CustomResourceDefinition; only the fields whose schema is open have their
// sentences here, and a test holds them against package parse.
package fields

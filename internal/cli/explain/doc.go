// SPDX-License-Identifier: Apache-2.0

// Package explain is the verb that looks things up: a field of the custom resource, a provider type, or the reason of a condition.
//
// Contract: everything comes from what the operator itself uses: the CustomResourceDefinition, the catalog of release lines, and the tables
// of reasons. Only the fields whose schema is open have their sentences here, and a test holds them against package parse. It
// contacts nobody.
package explain

// SPDX-License-Identifier: Apache-2.0

// Package storage applies spec.storage to a configuration: the kv backend, the SQL backend, the stores that use them,
// and the credentials that they need.
//
// Contract: pure. Apply changes the storage section of the document alone, adds the variables that carry credentials to
// the environment, and reports to the collector. Backends keep their names, so that what refers to them stays valid.
// SecretUses needs the spec alone.
package storage

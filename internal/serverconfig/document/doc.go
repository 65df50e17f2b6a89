// SPDX-License-Identifier: Apache-2.0

// Package document holds a config.yaml of the server as a tree: a Base is parsed once and never changed, a Document is
// the copy of it that is edited, and Write gives it back as YAML.
//
// Contract: pure and deterministic; no I/O. A Base may be shared by any number of goroutines, a Document belongs to
// one. Keys that nothing here knows survive at every level. Aliases and merge keys are expanded, comments are dropped,
// and what is written means the same to YAML 1.1, which the server reads, and to YAML 1.2.
//
// Four kinds of things are here, each in a file of its own:
//
//   - The document (document.go): Providers, ProvidersOf, Identities, Lookup, Backends, Stores, Registered, APIs and
//     Section read it; EnsureProviders, EnsureRegistered and EnableAPI make what is absent.
//   - Trees (node.go, scalar.go): Child, Items, Members, Keys and Text read a node, and take nil for an absent one.
//     Set, Ensure, Drop, Merge and MapIndex change a map. String, Int, Bool and Value make nodes; Plain turns one into
//     what encoding/json writes.
//   - References to environment variables (reference.go, variables.go): WholeReference, References and MaskReferences
//     read texts; Variables are those that are known to be set, and answer what is empty without them, and what they
//     enable.
//   - Identities of providers (identity.go): the effective id of an entry, and whether it is enabled unconditionally,
//     conditionally, or not at all.
//
// It knows no release line (see package catalog) and no custom resource.
package document

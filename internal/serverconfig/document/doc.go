// SPDX-License-Identifier: Apache-2.0

// Package document holds a config.yaml of the server as a tree: a Base is parsed once and immutable, a Document is an
// editable copy, and Write encodes it.
//
// The package does no I/O, is deterministic, and keeps unknown keys. Aliases and merge keys are expanded, comments are
// dropped, and the output means the same in YAML 1.1 (the server) and YAML 1.2.
package document

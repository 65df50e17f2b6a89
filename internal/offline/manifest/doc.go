// SPDX-License-Identifier: Apache-2.0

// Package manifest reads manifests: files, directories and standard input, as documents that know where they stand.
//
// Contract: it reads what kubectl reads (several documents in a file, lists, JSON), and remembers the line of every
// field. A file that cannot be read and a document that is not YAML are errors with their place; documents of kinds
// that nobody asked for are not. It waits for no file: only regular ones are read, and what a shell hands over. It
// checks no content but that of the operator's ConfigMap, which package settings parses.
package manifest

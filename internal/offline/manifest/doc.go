// SPDX-License-Identifier: Apache-2.0

// Package manifest reads Kubernetes objects from files, directories and standard input, with the line of every field.
//
// It accepts the formats of kubectl: several documents in a file, lists, and JSON. It reads only regular files and
// those passed by a shell, so that it never blocks.
package manifest

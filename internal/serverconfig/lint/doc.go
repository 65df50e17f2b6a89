// SPDX-License-Identifier: Apache-2.0

// Package lint compares a complete config.yaml with the release line of the server that reads it.
//
// It reports what the server refuses and what it ignores, with line and column. It agrees with the server's own classes
// on the files in tests/server/testdata/configs, on each release line.
package lint

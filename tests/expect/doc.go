// SPDX-License-Identifier: Apache-2.0

// Package expect compares what a test got with golden files. UPDATE_GOLDEN=1 go test ./internal/... writes them.
//
// Message keeps the messages of a test's cases in one file, so that a text stands there and not in Go. The package
// imports nothing of the product, so every package can use it.
package expect

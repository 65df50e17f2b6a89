// SPDX-License-Identifier: Apache-2.0

// Package expect compares what a test got with golden files, which the flag -update writes: go test ./… -update.
//
// Messages keeps the messages of a test's cases in one file, so that a text stands there and not in Go. It imports
// nothing of the product, so every package can use it.
package expect

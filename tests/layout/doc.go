// SPDX-License-Identifier: Apache-2.0

// Package layout keeps the product's code in pieces that a reader can hold: its test fails for a type with too many methods and for
// a function that is too long, for code that reads a message, and for a test that names the newest release line.
package layout

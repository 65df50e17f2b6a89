// SPDX-License-Identifier: Apache-2.0

// Package layout keeps the product's code in pieces that a reader can hold: its test fails for a type with too many methods and for
// a function that is too long.
package layout

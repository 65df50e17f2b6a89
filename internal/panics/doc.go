// SPDX-License-Identifier: Apache-2.0

// Package panics counts the reconciles, the questions and the reads for the caches that panicked, and decides what is
// reported of one.
//
// Contract: neither the log nor the status gets what a panic says unless it is one of Go's own errors: anything else
// can hold a value of a Secret.
package panics

// SPDX-License-Identifier: Apache-2.0

// Package panics counts panics and decides how to report them.
//
// Log and status show a panic's value only if it is a runtime error; other values may hold a Secret.
package panics

// SPDX-License-Identifier: Apache-2.0

// Package programs builds the programs of a tier from pinned Go modules into the cache, once for each set of versions.
// Builds at the same time wait for each other.
//
// It runs none of them.
package programs

// SPDX-License-Identifier: Apache-2.0

// Package programs builds the programs of a tier from pinned Go modules into the cache, once for each set of versions.
// Concurrent builds wait for each other.
package programs

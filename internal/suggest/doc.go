// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the known name that a user most likely meant, for error messages.
//
// It is pure and deterministic: of equally near names, the first in sorted order wins.
package suggest

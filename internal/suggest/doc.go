// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the name that a user most likely meant, for error messages.
//
// Contract: pure and deterministic; among equally near names the first in sorted order wins. It never corrects
// anything by itself.
package suggest

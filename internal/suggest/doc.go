// SPDX-License-Identifier: Apache-2.0

// Package suggest finds the known name that a user most likely meant. It is pure and deterministic.
package suggest

// SPDX-License-Identifier: Apache-2.0

// Package describe describes provider types and reasons of conditions for the documentation and the kubectl plugin.
//
// It is pure and returns plain text unless noted otherwise. It has no code for single provider types.
package describe

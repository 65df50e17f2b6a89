// SPDX-License-Identifier: Apache-2.0

// Package cli is the kubectl plugin "kubectl llamastack": it puts the verbs together. Each verb has a package of its own, which
// gathers, makes and prints; package offline is what they share with each other, and with the operator.
//
// Contract: commands are built by functions from streams, keep nothing in package variables, and work without a cluster.
// Run ends neither the process nor prints elsewhere.
package cli

// SPDX-License-Identifier: Apache-2.0

// Package state is what the directory of a cluster remembers between commands: its tier, how to use it, and which
// processes are its own. It also locks the directory, so that two commands do not work on one cluster.
//
// It starts and ends nothing.
package state

// SPDX-License-Identifier: Apache-2.0

// Package state stores a cluster's state in its directory: its tier, how to use it, and its processes. It also locks
// the directory, so that only one command at a time uses the cluster.
package state

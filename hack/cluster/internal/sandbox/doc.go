// SPDX-License-Identifier: Apache-2.0

// Package sandbox creates a node's network, which is a virtual link to the machine with its routes, and mounts the
// node's file systems. It needs Linux.
package sandbox

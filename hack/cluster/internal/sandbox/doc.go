// SPDX-License-Identifier: Apache-2.0

// Package sandbox gives a node its network and its file systems: the virtual link to the machine with its routes, and
// what is mounted in the namespaces of the node. Only Linux has them. What runs inside it does not know.
package sandbox

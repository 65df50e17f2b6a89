// SPDX-License-Identifier: Apache-2.0

// Package node runs the node of the node tier. [Start] runs an init process in its own namespaces, whose supervisor
// mounts, joins the network, and starts the control plane and the node's programs without restarting them. The node
// ends with its init process, and [Clean] removes the rest from the machine.
//
// The init process, the supervisor and the registry are [Commands] of the program that uses this package.
package node

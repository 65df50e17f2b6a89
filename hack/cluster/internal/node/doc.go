// SPDX-License-Identifier: Apache-2.0

// Package node is the one node of the node tier. [Start] runs an init process in namespaces of its own; its supervisor
// mounts, joins the network, and starts the control plane and the node's programs; [Clean] removes what an ended node
// left on the machine. Ending the init process ends everything else.
//
// The init process, the supervisor and the registry are [Commands] of the program that uses this package.
//
// It restarts nothing, and it does not decide when a node ends.
package node

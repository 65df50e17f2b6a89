// SPDX-License-Identifier: Apache-2.0

// Package plugin implements the kubectl plugin "kubectl llamastack". Each verb has its own package; package offline has
// the code that verbs share with the operator.
//
// Commands are built from streams and have no global state, except the compiled CRD in package offline. Only verbs with
// a cluster connection access a cluster, and only label and render access a registry.
package plugin

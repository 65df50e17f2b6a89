// SPDX-License-Identifier: Apache-2.0

// Package cluster connects verbs of the kubectl plugin to a cluster: the flags of kubectl, a client, and the operator's
// settings.
//
// Contract: the flags and the kubeconfig mean what they mean to kubectl. A verb gets its connection by a function, so
// that a test can give it another one. Nothing is asked before a verb asks, and no redirect is followed.
package cluster

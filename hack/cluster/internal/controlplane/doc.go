// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts etcd, kube-apiserver and kube-controller-manager: their command lines, certificates,
// kubeconfigs, and the audit policy. Both tiers use it, on this machine or inside a node.
//
// It knows no node: what a node needs of the control plane is in its configuration. It does not stop what it started.
package controlplane

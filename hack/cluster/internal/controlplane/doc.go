// SPDX-License-Identifier: Apache-2.0

// Package controlplane starts etcd, kube-apiserver and kube-controller-manager, with their certificates, kubeconfigs
// and audit policy, for both tiers. It does not stop them.
package controlplane

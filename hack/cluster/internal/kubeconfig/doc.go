// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig renders self-contained kubeconfigs.
package kubeconfig

// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig renders kubeconfigs that need no other file.
package kubeconfig

// SPDX-License-Identifier: Apache-2.0

// Package credentials has the credentials for registries of clouds that a cloud gives to its nodes or to the operator's
// ServiceAccount: Amazon ECR, Google Artifact Registry and Azure Container Registry, as a kubelet has them.
//
// Contract: only the host of a registry decides which cloud is asked, and credentials go to no other host. A host of no
// cloud costs nothing. A Keychain serves one question to a registry, and asks each cloud once: that a cloud gives
// nothing, or no answer in a limited time, means no credentials, not an error. It starts no other program, and writes
// neither files nor logs.
package credentials

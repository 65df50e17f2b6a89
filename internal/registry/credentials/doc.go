// SPDX-License-Identifier: Apache-2.0

// Package credentials returns credentials for Amazon ECR, Google Artifact Registry and Azure Container Registry from
// the identity of the operator's pod or node.
//
// Credentials go only to hosts of the cloud that issued them. A failed or slow cloud means no credentials, not an
// error.
package credentials

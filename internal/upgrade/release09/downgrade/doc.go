// SPDX-License-Identifier: Apache-2.0

// Package downgrade prepares a cluster for the manifest of release 0.9.
//
// Prepare is idempotent and resumes after an interruption. It changes only the field managers and owners of
// Deployments, so that no server restarts. It needs the running operator for conversion, then stops it, and uses the
// caller's permissions. It does not install release 0.9.
package downgrade

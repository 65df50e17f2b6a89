// SPDX-License-Identifier: Apache-2.0

// Package storageversion rewrites custom resources in v1alpha2, the storage version, and removes v1alpha1 from the
// CRD's storedVersions.
//
// It runs in the leader on every change of the CRD, because an older CRD may be restored. It is rate-limited and
// idempotent, and retries until conversion works.
package storageversion

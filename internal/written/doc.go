// SPDX-License-Identifier: Apache-2.0

// Package written knows which version of a custom resource came of the operator's last write of its status, until the cache has it.
//
// Contract: where the cache shows an older version, a reconcile waits: what it compares with is not stored any more. Versions that cannot be compared
// count as seen. Looking into the cache for a large custom resource copies all of it, so that is done rarely, and an event of the cache ends the wait
// at once.
package written

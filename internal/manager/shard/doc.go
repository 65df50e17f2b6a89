// SPDX-License-Identifier: Apache-2.0

// Package shard divides the custom resources of a cluster among several operators, by a label selector for each.
//
// Contract: operators whose selectors select the same, in whatever order or spelling of single requirements, have the
// same Lease, and others have another one. An operator without a selector has the Lease of release 0.9. An operator
// with a selector begins only when no operator without one leads, because that one reconciles all custom resources.
// Whether the selectors of several operators overlap is not known here: each knows its own only.
//
// It selects nothing: the API server does, for the cache of custom resources.
package shard

// SPDX-License-Identifier: Apache-2.0

// Package shard divides the custom resources of a cluster among several operators by label selectors.
//
// Operators with equivalent selectors share a Lease; without a selector it is release 0.9's. An operator with a
// selector starts only when no operator without one leads.
package shard

// SPDX-License-Identifier: Apache-2.0

// Package events decides which Events report a change of a custom resource's conditions.
//
// Contract: pure. An Event reports an edge, so that a custom resource that does not change makes none, and shows
// nothing that the condition does not.
package events

// SPDX-License-Identifier: Apache-2.0

// Package difference compares two builds of a custom resource: the configuration, the objects, restarts of pods, and
// state that moves.
//
// It is pure. It ignores comments, content hashes in names, and the order of lists with named items, and hides secrets.
package difference

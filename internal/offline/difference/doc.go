// SPDX-License-Identifier: Apache-2.0

// Package difference compares what the operator makes of one custom resource with what it makes of another: the
// configuration by its meaning, the objects field by field, whether pods restart, and whether state moves.
//
// Contract: pure. Order in lists whose items have a name does not count, and neither do comments and the names that
// contain a hash of their content. What may be a secret is hidden. That the new one can be made is for the caller to
// know.
package difference

// SPDX-License-Identifier: Apache-2.0

// Package release holds a configuration against what a release line of the server knows: which release lines have its
// config schema, which schema versions the operator can edit, how to report an API that a release line does not have,
// which release lines have it, and what older patch releases cannot read of a base.
//
// Contract: pure. What a release line knows is data of package catalog.
package release

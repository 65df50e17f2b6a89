// SPDX-License-Identifier: Apache-2.0

// Package release09 contains the knowledge about release 0.9 of the operator: its objects, field managers, images,
// conditions, and how to replace its pods without losing requests.
//
// It is pure. Its subpackages remove leftovers and prepare a downgrade; all of them can be deleted together when
// upgrades from release 0.9 end.
package release09

// SPDX-License-Identifier: Apache-2.0

// Package registry serves the image registry of a cluster over plain HTTP, with credentials only for repositories below
// "private", and pushes image archives to it.
package registry

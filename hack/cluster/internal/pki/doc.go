// SPDX-License-Identifier: Apache-2.0

// Package pki issues the certificates and keys of one cluster, which are valid for a month and not renewed: every start
// issues new ones.
package pki

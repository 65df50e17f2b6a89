// SPDX-License-Identifier: Apache-2.0

// Package pki issues the certificates and keys of one cluster, each for a month: every start issues new ones. It renews
// none.
package pki

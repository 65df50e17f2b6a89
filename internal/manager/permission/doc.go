// SPDX-License-Identifier: Apache-2.0

// Package permission serves a path only to clients that the API server authenticates by token and authorizes.
//
// It caches decisions by the token's hash: a minute, or ten seconds for a denial. controller-runtime's package filters
// does the same, but needs k8s.io/apiserver, a third of the program.
package permission

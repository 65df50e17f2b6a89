// SPDX-License-Identifier: Apache-2.0

// Package permission serves a path only to clients that the API server authenticates by token and authorizes.
//
// Other clients get 401 or 403, or 500 if the API server fails. It caches a bounded number of decisions by the token's
// hash, for a minute, denials for ten seconds. controller-runtime's package filters does the same, but needs
// k8s.io/apiserver, a third of the program.
package permission

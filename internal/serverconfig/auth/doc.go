// SPDX-License-Identifier: Apache-2.0

// Package auth applies spec.auth to server.auth and server.tenancy: authentication, access rules and tenancy.
//
// Settings that the server would ignore and rules that match nothing are errors, because they would let in excluded
// users. An unsupported feature is an error that names the release lines that have it. A route policy never blocks the
// kubelet's probes.
package auth

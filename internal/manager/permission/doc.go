// SPDX-License-Identifier: Apache-2.0

// Package permission serves a path only to those whom the API server knows by their token and lets call it.
//
// Contract: a client without a token, or with one that the API server does not know, gets 401; one that may not, 403;
// and 500 where the API server does not answer. A decision counts for a minute, a denial for ten seconds, and a bounded
// number of them is remembered, by the hash of the token. The token is in no error, log or answer, and goes nowhere but
// to the API server. There is no access by client certificate.
//
// controller-runtime has the same in its package filters, from which the semantics are. It needs k8s.io/apiserver with
// CEL, gRPC and OpenTelemetry, a third of the operator's program, and with them the linker keeps every method of every
// type.
package permission

// SPDX-License-Identifier: Apache-2.0

// Package auth applies spec.auth: who may call the server, what they may do, and whose data they see. It writes
// server.auth and server.tenancy, each part in the place of the base's.
//
// Contract: pure. Without spec.auth nothing changes. A type of authentication is a row of the catalog, and what a
// release line lacks is an error that names the first one that has it. What the server would ignore is an error too: a
// rule or a setting that does nothing would let in people whom the author wanted out. Secrets become references to the
// environment, and stand nowhere else. A route policy never closes the path that the kubelet asks.
package auth

// SPDX-License-Identifier: Apache-2.0

// Package connections bounds how many connections a port of the operator has, so that clients that open them and say nothing use up no
// memory and keep nobody out.
//
// Contract: when all connections are taken, a new one takes the place of one whose client has yet to send a whole request, or else of one
// that is idle: first of the address that has most of them, and of those the one that waits longest. A connection on which a request is
// answered is never closed for another. Before a server ends, it can dismiss the clients of idle connections with an answer that sends them elsewhere. The
// timeouts are the server's, but for one: how long a connection may stay unused after its handshake.
package connections

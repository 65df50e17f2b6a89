// SPDX-License-Identifier: Apache-2.0

// Package endpoint reads from an object of the cluster at which address it is reached: a Service, or one of KServe's
// model servers.
//
// Contract: pure. An address is a URL of the scheme http or https without user name, query and references to the
// environment, of bounded length; anything else in a status does not count, and the result says why. Without TLS, it is
// the address of a Service: the server sends its key there, and who writes a status need not be the one who owns the
// key. Nothing is asked of the address itself.
package endpoint

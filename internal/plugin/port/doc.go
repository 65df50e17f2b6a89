// SPDX-License-Identifier: Apache-2.0

// Package port is the verb port-forward, by which this machine reaches a server.
//
// Contract: it listens on the loopback address only, forwards to the port of a ready pod, and prints the URL with the
// server's scheme. It ends with its pod: another start takes another one.
package port

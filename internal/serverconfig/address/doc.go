// SPDX-License-Identifier: Apache-2.0

// Package address takes network addresses apart: host, port, and the user who must not be in one. A reference to the
// environment can stand for the port, or for any part of the host.
//
// Contract: pure. It knows no provider and no release line. No text that it returns quotes the address, which may hold
// a credential.
package address

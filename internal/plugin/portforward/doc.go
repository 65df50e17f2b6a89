// SPDX-License-Identifier: Apache-2.0

// Package portforward implements the verb port-forward.
//
// It listens only on the loopback address and forwards to a ready pod until that pod ends.
package portforward

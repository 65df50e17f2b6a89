// SPDX-License-Identifier: Apache-2.0

// Package packed compresses what the caches hold for long and are rarely asked for.
//
// Contract: what Pack returns, Unpack gives back, byte for byte. The result is a valid value for nothing else: it is neither stored nor sent.
package packed

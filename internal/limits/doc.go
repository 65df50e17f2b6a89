// SPDX-License-Identifier: Apache-2.0

// Package limits holds the bounds of all inputs and outputs, and measures JSON and YAML before they are decoded.
//
// Scan uses memory in proportion to the limits, never to the text, and stops at the first excess. It does not validate:
// the decoder that follows reports invalid JSON. A test compares the limits with the schema markers.
package limits

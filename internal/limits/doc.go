// SPDX-License-Identifier: Apache-2.0

// Package limits says how much of everything the operator takes, and measures JSON and YAML before anything decodes
// them.
//
// Contract: pure, without recursion and without decoding. Scan reads a text once, keeps one small frame for each open
// object or list, and stops at the first excess; so its memory depends on the limits and never on the text. It is not a
// validator: a text that is not JSON gets a size or an excess, never a panic, and the decoder that follows reports what
// is wrong with it.
//
// The limits stand here and nowhere else. Schema markers cannot refer to them; a test compares the two.
package limits

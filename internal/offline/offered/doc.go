// SPDX-License-Identifier: Apache-2.0

// Package offered reads from a configuration what the server offers to clients: its providers, which of them are off
// and why, and its models by the names that clients write.
//
// Contract: pure. What a configuration enables is decided by the functions that the operator itself uses. What the
// environment of the image adds is not known.
package offered

// SPDX-License-Identifier: Apache-2.0

// Package events decides which Events report a change of conditions. It is pure.
//
// Only changes cause Events, and they contain nothing that the condition does not.
package events

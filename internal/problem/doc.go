// SPDX-License-Identifier: Apache-2.0

// Package problem defines the type for errors and warnings, from detection to conditions, Events and messages.
//
// Code reads the properties of a Problem, never its message; String renders the message in the form of field.Error.
// Each Reason has a row in the table, from which docs/status.md is generated. Messages are stable, bounded and free of
// Secret values; a panic's value is shown only if it is a runtime error.
package problem

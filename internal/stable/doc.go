// SPDX-License-Identifier: Apache-2.0

// Package stable makes the text of an error the same each time it happens, so that a status that shows it does not
// change for nothing.
//
// Contract: pure. It never adds anything to what the error says.
package stable

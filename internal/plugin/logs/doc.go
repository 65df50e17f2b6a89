// SPDX-License-Identifier: Apache-2.0

// Package logs implements the verb logs, which prints the log of a server without redaction, as kubectl logs does.
package logs

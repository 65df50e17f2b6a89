// SPDX-License-Identifier: Apache-2.0

// Package process runs programs that outlive this one, and identifies them by process id and start time, so that a
// reused process id is not mistaken for the program.
package process

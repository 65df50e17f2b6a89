// SPDX-License-Identifier: Apache-2.0

// Package process runs programs that outlive this one, and finds them again: by process id and start time, so that a
// process id that was given away again is not taken for the program.
package process

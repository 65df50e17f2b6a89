// SPDX-License-Identifier: Apache-2.0

package framework

import "os"

// Loops returns how often a test repeats itself with other random input: few times, or many in "make test-loops".
func Loops(few, many int) int {
	if os.Getenv("LLSD_LOOPS") == "full" {
		return many
	}
	return few
}

// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"

	"golang.org/x/sync/errgroup"
)

// workers is the number of calls of Parallel at a time.
const workers = 8

// Parallel calls do for each number below n, several at a time. The channel receives the first error after the last
// call.
func Parallel(n int, do func(int) error) <-chan error {
	var calls errgroup.Group
	calls.SetLimit(workers)
	done := make(chan error, 1)
	go func() {
		for i := range n {
			calls.Go(func() error { return do(i) })
		}
		done <- calls.Wait()
	}()
	return done
}

// Loops returns how often a test repeats itself with other random input: few times, or many in "make test-loops".
func Loops(few, many int) int {
	if os.Getenv("LLSD_LOOPS") == "full" {
		return many
	}
	return few
}

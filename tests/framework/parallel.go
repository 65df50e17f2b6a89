// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"sync"
)

// workers is the number of goroutines that Parallel starts.
const workers = 8

// Parallel calls do for each number below n from several goroutines. The channel receives the joined errors after the last call.
func Parallel(n int, do func(int) error) <-chan error {
	next, done := make(chan int), make(chan error, 1)
	var all sync.WaitGroup
	errs := make([]error, workers)
	for c := range workers {
		all.Go(func() {
			for i := range next {
				errs[c] = errors.Join(errs[c], do(i))
			}
		})
	}
	go func() {
		for i := range n {
			next <- i
		}
		close(next)
		all.Wait()
		done <- errors.Join(errs...)
	}()
	return done
}

// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"runtime"
	"testing"
	"time"
)

// ReportPeakHeap reports the growth of the heap during a benchmark as a metric. Call report after the loop.
func ReportPeakHeap(b *testing.B) (report func()) {
	b.Helper()
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		highest := before.HeapInuse
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				peak <- highest
				return
			case <-ticker.C:
				runtime.ReadMemStats(&now)
				highest = max(highest, now.HeapInuse)
			}
		}
	}()
	return func() {
		b.Helper()
		close(stop)
		b.ReportMetric(float64(<-peak-before.HeapInuse)/(1<<20), "peak-MiB")
	}
}

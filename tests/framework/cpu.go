// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"syscall"
	"testing"
	"time"
)

// ReportCPU reports the processor time of an iteration, garbage collection included, as a metric of a benchmark. Call
// report after the loop.
func ReportCPU(b *testing.B) (report func()) {
	b.Helper()
	before := processorTime(b)
	return func() {
		b.Helper()
		b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

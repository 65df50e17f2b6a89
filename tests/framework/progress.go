// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress reports the parts of a long test, which may run side by side, and the time that each step took.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	began time.Time
}

// Part is a part of the test. It is not safe for concurrent use; several parts are.
type Part struct {
	of   *Progress
	mark string
	last time.Time
}

// NewProgress returns a Progress whose time starts now.
func NewProgress(w io.Writer) *Progress {
	return &Progress{w: w, began: time.Now()}
}

// Part begins a part. Each of its lines begins with the mark, which distinguishes parts that run side by side.
func (n *Progress) Part(mark, title string) *Part {
	n.print("\n%s==> %s\n", mark, title)
	return &Part{of: n, mark: mark, last: time.Now()}
}

// Done reports a completed step and the time since the previous one.
func (p *Part) Done(format string, args ...any) {
	now := time.Now()
	p.of.print("%s  %5.1f s  %s\n", p.mark, now.Sub(p.last).Seconds(), fmt.Sprintf(format, args...))
	p.last = now
}

// End reports the result and the time that all parts took.
func (n *Progress) End(format string, args ...any) {
	n.print("\n==> %s after %.0f s\n", fmt.Sprintf(format, args...), time.Since(n.began).Seconds())
}

func (n *Progress) print(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = fmt.Fprintf(n.w, format, args...)
}

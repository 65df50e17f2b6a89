// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Proves: R50 (the status does not contain the local ports of connections).
func TestErrorIsTheSameEachTime(t *testing.T) {
	reset := &net.OpError{
		Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 43210}, Addr: &net.TCPAddr{Port: 443},
		Err: os.NewSyscallError("read", syscall.ECONNRESET),
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"connection reset":  {fmt.Errorf("asking: %w", reset), "connection reset by peer"},
		"unknown name":      {&net.DNSError{Err: "no such host", Name: "x.y", Server: "10.0.0.1:53"}, "the name cannot be resolved"},
		"time is over":      {fmt.Errorf("asking: %w", context.DeadlineExceeded), "no response in time"},
		"any other problem": {errors.New("forbidden: no"), "forbidden: no"},
	} {
		if got := StableError(c.err).Error(); got != c.want || strings.Contains(got, "43210") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

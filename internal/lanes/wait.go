// SPDX-License-Identifier: Apache-2.0

package lanes

import (
	"context"
	"time"
)

// Wait waits, and reports whether the context still goes on.
func Wait(ctx context.Context, delay time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(delay):
		return true
	}
}

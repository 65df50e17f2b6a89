// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
)

func TestCacheDir(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/xdg")
	t.Setenv("LLSD_CACHE", "/own")
	for _, c := range []struct{ unset, want string }{
		{"", "/own/llama-stack-k8s-operator"},
		{"LLSD_CACHE", "/xdg/llama-stack-k8s-operator"},
	} {
		if c.unset != "" {
			t.Setenv(c.unset, "")
		}
		if got, err := files.CacheDir(); err != nil || got != c.want {
			t.Errorf("without %q: got %q, %v; want %q", c.unset, got, err, c.want)
		}
	}
	t.Setenv("LLSD_CACHE", "relative")
	if _, err := files.CacheDir(); err == nil || !strings.Contains(err.Error(), "LLSD_CACHE") {
		t.Errorf("a relative path: got %v; want an error that names the variable", err)
	}
}

func TestLockExcludesAndEndsWithItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	unlock, err := files.Lock(t.Context(), file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
	defer cancel()
	waits := 0
	if _, err := files.Lock(ctx, file, func() { waits++ }); !errors.Is(err, context.DeadlineExceeded) || waits != 1 {
		t.Errorf("a held lock: got %v after %d notices; want the deadline's error after one", err, waits)
	}
	unlock()
	if unlock, err = files.Lock(t.Context(), file, nil); err != nil {
		t.Fatalf("a released lock: %v", err)
	}
	unlock()
}

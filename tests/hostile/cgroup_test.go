// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const cgroupTop = "/sys/fs/cgroup"

// memoryGroup is a control group with a memory limit, of version 1 or 2.
type memoryGroup struct {
	dir string
	v1  bool
}

// newMemoryGroup creates a group below that of this process, and removes it after the test. With version 2, groups with
// processes cannot enable controllers for children, so it uses the nearest ancestor that can.
func newMemoryGroup(t *testing.T, limit int64) *memoryGroup {
	t.Helper()
	own, v1, err := ownGroup()
	if err != nil {
		t.Fatalf("control groups are needed for the operator's memory limit: %v", err)
	}
	top := cgroupTop
	if v1 {
		top = filepath.Join(cgroupTop, "memory")
	}
	g := &memoryGroup{v1: v1}
	name := "llsd-hostile-" + strconv.Itoa(os.Getpid())
	for parent := filepath.Join(top, own); g.dir == ""; parent = filepath.Dir(parent) {
		if !strings.HasPrefix(parent, top) {
			t.Fatalf("no control group above that of this process (%s) lets memory be limited: %v", own, err)
		}
		err = errors.Join(err, g.create(filepath.Join(parent, name), limit))
	}
	t.Cleanup(func() {
		// The kernel releases ended processes after a moment.
		if err := framework.Poll(context.WithoutCancel(t.Context()), time.Minute, func() error {
			if err := os.Remove(g.dir); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}); err != nil {
			t.Errorf("the control group stays: %v", err)
		}
	})
	return g
}

func (g *memoryGroup) create(dir string, limit int64) error {
	if !g.v1 { // the root can enable them although it has processes
		_ = os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), []byte("+memory"), 0o644)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	file := "memory.max"
	if g.v1 {
		file = "memory.limit_in_bytes"
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strconv.FormatInt(limit, 10)), 0o644); err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	g.dir = dir
	return nil
}

// ownGroup returns the group of this process, relative to the root of its hierarchy.
func ownGroup() (path string, v1 bool, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[1] == "memory" {
			return fields[2], true, nil
		}
		if fields[0] == "0" {
			path = fields[2]
		}
	}
	if _, err := os.Stat(filepath.Join(cgroupTop, "cgroup.controllers")); err != nil {
		return "", false, fmt.Errorf("neither version 1 with the memory controller nor version 2 is mounted at %s: %w", cgroupTop, err)
	}
	return path, false, nil
}

// peak returns the peak memory use of the group, including the page cache.
func (g *memoryGroup) peak(t *testing.T) int64 {
	t.Helper()
	file := "memory.peak"
	if g.v1 {
		file = "memory.max_usage_in_bytes"
	}
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		t.Logf("the group does not tell its peak: %v", err)
		return 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	framework.NoError(t, err)
	return n
}

// kills returns how many processes of the group the kernel has killed for lack of memory.
func (g *memoryGroup) kills(t *testing.T) int {
	t.Helper()
	file := "memory.events"
	if g.v1 {
		file = "memory.oom_control"
	}
	text := framework.ReadFile(t, filepath.Join(g.dir, file))
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(count))
			framework.NoError(t, err)
			return n
		}
	}
	t.Logf("%s does not count: %s", file, text)
	return 0
}

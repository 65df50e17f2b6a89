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

// memoryGroup is a control group with a memory limit, of either version.
type memoryGroup struct {
	dir string
	v1  bool
}

// newMemoryGroup makes a group below that of this process, and on version 2, where a group that has processes may hand down nothing,
// below the nearest one that can. It is removed after the test.
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
		// The kernel takes a moment to let go of a process that ended.
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
	if !g.v1 { // the top may hand down although it has processes
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

// ownGroup is the group of this process, below the top of its hierarchy.
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

// peak is the most memory that the group ever used, the page cache included.
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

// kills is how often the kernel ended a process of the group because of its memory.
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

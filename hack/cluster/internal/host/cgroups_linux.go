// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
)

// cgroupRoots returns the roots of the cgroup hierarchies: the only one of version 2, or that of each controller of
// version 1.
func cgroupRoots() ([]string, error) {
	const top = "/sys/fs/cgroup"
	if hasAll(top, []string{"cgroup.controllers"}) {
		return []string{top}, nil
	}
	files, err := filepath.Glob(filepath.Join(top, "*", "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var roots []string
	for _, file := range files {
		roots = append(roots, filepath.Dir(file))
	}
	return roots, nil
}

// delegated are the controllers that kubelet uses if the kernel has them.
var delegated = []string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}

// delegate enables the controllers of a version 2 group for its children. kubelet treats a group without them as
// missing.
func delegate(group string) error {
	data, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if errors.Is(err, os.ErrNotExist) {
		return nil // version 1
	}
	if err != nil {
		return err
	}
	available := strings.Fields(string(data))
	var changes []string
	for _, controller := range delegated {
		if slices.Contains(available, controller) {
			changes = append(changes, "+"+controller)
		}
	}
	file := filepath.Join(group, "cgroup.subtree_control")
	if err := os.WriteFile(file, []byte(strings.Join(changes, " ")), 0o644); err != nil {
		return fmt.Errorf("enabling the cgroup controllers %s for child cgroups (not permitted in a container; use the machine itself): %w", strings.Join(changes, " "), err)
	}
	return nil
}

// weights are the files with a group's CPU weight, by version 2 and 1, with eight times the default. With the default,
// the whole cluster would get as little CPU as one other process, such as a compiler.
var weights = map[string]string{"cpu.weight": "800", "cpu.shares": "8192"}

// CreateCgroups creates the cgroup of a cluster, with the pods' cgroups and one for this process and its children.
func CreateCgroups(name string) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := delegate(root); err != nil {
			return err
		}
		if err := createCgroup(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("creating the cluster's cgroup: %w", err)
		}
	}
	return nil
}

func createCgroup(group string) error {
	if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for file, weight := range weights {
		if !hasAll(group, []string{file}) {
			continue // of the other version, or of another controller
		}
		system := filepath.Join(group, "system")
		if err := os.Mkdir(system, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		for path, value := range map[string]string{
			filepath.Join(group, file):            weight,
			filepath.Join(system, "cgroup.procs"): strconv.Itoa(os.Getpid()),
		} {
			if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// RemoveCgroups removes the cgroups that CreateCgroups made and those below.
func RemoveCgroups(ctx context.Context, name string) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(root, name), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, dir := range slices.Backward(dirs) {
			// The kernel releases ended processes after a moment.
			err := process.Until(ctx, "the cgroup "+dir, nil, func(context.Context) error {
				if err := os.Remove(dir); !errors.Is(err, os.ErrNotExist) {
					return err
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

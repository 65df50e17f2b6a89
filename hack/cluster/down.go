// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/node"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// Down stops the cluster of a directory and removes its files except the logs. It returns false if there was none.
func Down(ctx context.Context, dir string, progress io.Writer) (bool, error) {
	if _, err := os.Stat(state.File(dir)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	unlock, err := state.Lock(ctx, dir, progress)
	if err != nil {
		return false, err
	}
	defer unlock()
	s, err := state.Load(dir)
	if err != nil || s == nil {
		return false, err
	}
	return true, clean(dir, s, progress)
}

// clean stops the processes of s, last started first, and removes everything in the directory except the logs and the
// lock.
func clean(dir string, s *state.State, progress io.Writer) error {
	var errs []error
	for _, p := range slices.Backward(s.Processes) {
		if !p.Alive() {
			continue
		}
		_, _ = fmt.Fprintf(progress, "stopping %s\n", p.Name)
		errs = append(errs, p.Stop(process.StopGrace))
	}
	if err := errors.Join(errs...); err != nil {
		return err // its files may still be in use
	}
	if s.Result.Tier == state.Node {
		if err := node.Clean(s); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch entry.Name() {
		case "log", state.LockName, filepath.Base(state.File(dir)):
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	// The state file goes last: while it exists, a later command knows that there is something to clean.
	if err := os.Remove(state.File(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

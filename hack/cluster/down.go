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
	"time"
)

// stopGrace is how long a process has to end by itself; the store is thrown
// away, so there is nothing worth a longer wait.
const stopGrace = 5 * time.Second

// Down ends the cluster of a directory and removes everything of it but its
// logs. It reports false if there was none.
func Down(ctx context.Context, dir string, progress io.Writer) (bool, error) {
	if _, err := os.Stat(stateFile(dir)); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	unlock, err := lockDir(ctx, dir, progress)
	if err != nil {
		return false, err
	}
	defer unlock()
	s, err := loadState(dir)
	if err != nil || s == nil {
		return false, err
	}
	return true, clean(dir, s, progress)
}

// clean ends the processes of s, last started first, and removes everything in
// the directory but the logs and the lock.
func clean(dir string, s *state, progress io.Writer) error {
	var errs []error
	for _, p := range slices.Backward(s.Processes) {
		if !p.Alive() {
			continue
		}
		_, _ = fmt.Fprintf(progress, "stopping %s\n", p.Name)
		errs = append(errs, p.Stop(stopGrace))
	}
	if err := errors.Join(errs...); err != nil {
		return err // its files may still be in use
	}
	if s.Result.Tier == Node {
		if err := cleanHost(s); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		switch entry.Name() {
		case "log", lockName, filepath.Base(stateFile(dir)):
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	// Last: as long as it is there, a later command knows that there is something to clean.
	if err := os.Remove(stateFile(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

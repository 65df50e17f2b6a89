// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
)

// LockName is the lock file in a cluster's directory, which also marks the directory as a cluster's.
const LockName = "cluster.lock"

// Lock creates a cluster's directory and takes its lock. It rejects a directory with other content, because stopping
// the cluster deletes everything in it.
func Lock(ctx context.Context, dir string, progress io.Writer) (func(), error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	lock := filepath.Join(dir, LockName)
	if _, err := os.Stat(lock); errors.Is(err, os.ErrNotExist) && len(entries) > 0 {
		return nil, fmt.Errorf("the directory %s has files that are not a cluster's, such as %s: choose an empty or new one", dir, entries[0].Name())
	}
	return files.Lock(ctx, lock, func() {
		_, _ = fmt.Fprintf(progress, "waiting for another command on %s\n", dir)
	})
}

// SPDX-License-Identifier: Apache-2.0

package files

import (
	"fmt"
	"os"
	"path/filepath"
)

// CacheDir returns the directory for files that are kept between runs: llama-stack-k8s-operator below $LLSD_CACHE,
// $XDG_CACHE_HOME or ~/.cache, in this order. It may not exist.
func CacheDir() (string, error) {
	for _, name := range []string{"LLSD_CACHE", "XDG_CACHE_HOME"} {
		if base := os.Getenv(name); base != "" {
			if !filepath.IsAbs(base) {
				return "", fmt.Errorf("environment variable %s is %q: it must be an absolute path", name, base)
			}
			return filepath.Join(base, "llama-stack-k8s-operator"), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: set LLSD_CACHE to an absolute path: %w", err)
	}
	return filepath.Join(home, ".cache", "llama-stack-k8s-operator"), nil
}

// DefaultDir returns the default directory of the cluster of that name.
func DefaultDir(name string) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "clusters", name), nil
}

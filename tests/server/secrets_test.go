// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// canaries are the secret values of the real servers. Only the environment of a server may contain them.
var canaries framework.Canaries

// mayContainSecrets reports whether a file may contain secret values: a mounted private key, or the configuration that
// servers from OGX 1.2 on write for their processes. In a pod, that file is in memory and only the server's user can
// read it.
func mayContainSecrets(file fs.DirEntry) (bool, error) {
	if written, err := filepath.Match("ogx-run-*.yaml", file.Name()); err != nil || !written {
		return file.Name() == corev1.TLSPrivateKeyKey, err
	}
	info, err := file.Info()
	return err == nil && info.Mode().Perm() == 0o600, err
}

// searchSecretsAtEnd searches all files in the folders for canaries when the test ends. Call it before registering the
// cleanup that ends the server.
//
// Proves: R7, NFR-003 (with real servers).
func searchSecretsAtEnd(t *testing.T, folders ...string) {
	t.Helper()
	t.Cleanup(func() {
		found, err := canariesBelow(folders...)
		if err != nil {
			t.Error(err)
		}
		for _, leak := range found {
			t.Error(leak)
		}
	})
}

// canariesBelow describes the canaries in the files below the folders.
func canariesBelow(folders ...string) (found []string, err error) {
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			if held, err := mayContainSecrets(entry); held || err != nil {
				return err
			}
			content, err := os.ReadFile(path)
			for _, leak := range canaries.Find(string(content)) {
				found = append(found, fmt.Sprintf("%s contains %s", path, leak))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

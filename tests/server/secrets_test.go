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

// canaries are the values of Secrets that real servers get here. Only the environment of a server may have them.
var canaries framework.Canaries

// mayContainSecrets reports whether a file may hold values of Secrets: one that a pod has from a Secret, and the configuration that servers from OGX 1.2
// on write for their own processes, with the values filled in. In a pod it is in memory, and nobody but the server's user may read it.
func mayContainSecrets(file fs.DirEntry) (bool, error) {
	if written, err := filepath.Match("ogx-run-*.yaml", file.Name()); err != nil || !written {
		return file.Name() == corev1.TLSPrivateKeyKey, err
	}
	info, err := file.Info()
	return err == nil && info.Mode().Perm() == 0o600, err
}

// searchSecretsAtEnd searches, when the test has ended its server, all files in the folders: the generated configuration, what the server printed
// and what it stored. Call it before what ends the server is registered.
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

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func TestGeneratedFilesHaveContentHash(t *testing.T) {
	if err := checkHashes(filepath.Join("..", "..")); err != nil {
		t.Error(err)
	}
}

func TestCheckHashesFindsManualEdits(t *testing.T) {
	good := withContentHash([]byte("# " + generatedMark + "\na: 1\n"))
	for name, content := range map[string][]byte{
		"another value":     bytes.Replace(good, []byte("a: 1"), []byte("a: 2"), 1),
		"another line":      append(bytes.Clone(good), "b: 2\n"...),
		"another hash":      bytes.Replace(good, []byte("hash: "), []byte("hash: 0"), 1),
		"mark without hash": []byte("# " + generatedMark + "\na: 1\n"),
		"no mark":           []byte("a: 1\n"),
		"text above":        append([]byte("# kept\n"), good...),
		"two marks in file": append(bytes.Clone(good), good...),
	} {
		root := t.TempDir()
		for name, text := range map[string][]byte{
			overlayFile:                                []byte("providers: {}\n"),
			"internal/serverconfig/catalog/1.0.yaml":   content,
			"distributions/starter/1.0.yaml":           good,
			"distributions/starter/by-hand.yaml":       []byte("a: 1\n"),
			"distributions/remote-vllm/1.0.yaml":       good,
			"docs/providers.md":                        good,
			"internal/serverconfig/catalog/1.1.yaml":   good,
			"internal/serverconfig/catalog/ignored.go": []byte("package catalog\n"),
		} {
			file := filepath.Join(root, name)
			framework.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			framework.WriteFile(t, file, text)
		}
		err := checkHashes(root)
		if err == nil || !strings.Contains(err.Error(), "differs: internal/serverconfig/catalog/1.0.yaml; change") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

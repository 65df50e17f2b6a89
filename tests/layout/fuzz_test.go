// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The corpus of a fuzz target that was moved or renamed is never run, and nobody notices.
func TestEveryFuzzCorpusHasItsTarget(t *testing.T) {
	var corpora []string
	for _, depth := range []string{"*", "*/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join("..", "..", depth, "testdata", "fuzz", "Fuzz*"))
		if err != nil {
			t.Fatal(err)
		}
		corpora = append(corpora, found...)
	}
	if len(corpora) < 10 {
		t.Errorf("only %d corpora were found", len(corpora))
	}
	for _, corpus := range corpora {
		files, err := filepath.Glob(filepath.Join(corpus, "..", "..", "..", "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		declared := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			declared = declared || strings.Contains(string(text), "\nfunc "+filepath.Base(corpus)+"(")
		}
		if !declared {
			t.Errorf("%s: the package has no such target: move the corpus to the target, or remove it", corpus)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	listFile = "hack/requirements/requirements.yaml"
	pageFile = "docs/requirements.md"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	page, err := makePage(*root)
	if err == nil {
		err = os.WriteFile(filepath.Join(*root, pageFile), page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// makePage returns the content of the page for a checkout.
func makePage(root string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(root, listFile))
	if err != nil {
		return nil, err
	}
	known, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", listFile, err)
	}
	cited, err := citations(root, known)
	if err != nil {
		return nil, err
	}
	return known.page(cited), nil
}

// citations returns the tests that cite an id, by id.
func citations(root string, known *ledger) (map[string][]*proof, error) {
	cited := map[string][]*proof{}
	var unknown []error
	checkout := os.DirFS(root)
	err := fs.WalkDir(checkout, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == ".git" || name == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.Contains([]string{".go", ".py", ".sh"}, path.Ext(name)) || strings.HasPrefix(name, "hack/requirements/") {
			return nil
		}
		content, err := fs.ReadFile(checkout, name)
		if err != nil {
			return err
		}
		for _, id := range known.citedBy(string(content)) {
			if !known.has(id) {
				unknown = append(unknown, fmt.Errorf("%s cites %s, and %s does not list it: add a sentence", name, id, listFile))
			}
		}
		if !isTest(name) {
			return nil
		}
		proofs, err := known.proofs(name, string(content))
		for id, found := range proofs {
			cited[id] = append(cited[id], found)
		}
		return err
	})
	return cited, errors.Join(append(unknown, err)...)
}

// isTest reports whether a file holds tests.
func isTest(name string) bool {
	base := path.Base(name)
	return strings.HasSuffix(base, "_test.go") || strings.HasSuffix(base, "_test.sh") || strings.HasPrefix(base, "test_")
}

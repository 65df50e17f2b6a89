// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const someList = `
- title: Some
  ids:
    FR-001: First.
    FR-001a: Next.
    FR-003: Third.
- title: Rulings
  intro: About rulings.
  ids:
    R1: One.
    R2: Two.
`

func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files[listFile] = someList
	for name, content := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestPageListsTheTestsThatCiteAnID(t *testing.T) {
	page, err := makePage(checkout(t, map[string]string{
		"b/b_test.go": "package b\n\n// Proves: FR-001 to FR-003, R2.\nfunc TestB(t *testing.T) {}\n\n// Proves: R2 (again).\nfunc TestA(t *testing.T) {}\n",
		"a/a_test.go": "package a\n\n// R2 is proven by the cases.\nvar cases = 1\n\nfunc FuzzA(f *testing.F) {\n\t// R1\n}\n\n// Proves: R2.\nfunc (s *story) chapter() {}\n",
		"a/test_x.py": "# Proves: R1.\n",
		"a/a.go":      "// as R1 says\n",
		"bin/x.go":    "// R99\n",
		"notes.md":    "R98\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	_, lists, _ := strings.Cut(string(page), "\n## ")
	want := "Some\n\n- **FR-001** First.\n  - `b/b_test.go`: TestB\n- **FR-001a** Next.\n  - `b/b_test.go`: TestB\n- **FR-003** Third.\n  - `b/b_test.go`: TestB\n" +
		"\n## Rulings\n\nAbout rulings.\n\n- **R1** One.\n  - `a/a_test.go`: FuzzA\n  - `a/test_x.py`\n- **R2** Two.\n  - `a/a_test.go`: chapter\n  - `b/b_test.go`: TestB, TestA\n"
	if lists != want {
		t.Errorf("got:\n%s\nwant:\n%s", lists, want)
	}
}

func TestAnIDWithoutASentenceFails(t *testing.T) {
	_, err := makePage(checkout(t, map[string]string{"a/a.go": "// as R7 says\n", "a/a_test.go": "package a\n\n// Proves: FR-001, US-1.1\n"}))
	for _, want := range []string{"a/a.go cites R7", "a/a_test.go cites US-1.1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestParseRefusesABrokenList(t *testing.T) {
	for list, want := range map[string]string{
		"- {title: A, ids: {R1: One., R1: Again.}}":                      "R1 is listed twice",
		"- {title: A, ids: {R1: One.}}\n- {title: B, ids: {R1: Again.}}": "line 2: R1 is listed twice",
		"- {title: A, ids: {X-1: One.}}":                                 `"X-1" is not an id`,
		"- {title: A, ids: {R1: One}}":                                   "full stop",
	} {
		if _, err := parse([]byte(list)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", list, err, want)
		}
	}
}

// Every id that this checkout cites has a sentence; whether the page lists its tests, only verify-generated checks.
func TestEveryCitedIDHasASentence(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := makePage(root)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sentences(committed), sentences(page); !slices.Equal(got, want) {
		t.Errorf("%s has other sentences than %s: make generate", pageFile, listFile)
	}
}

func sentences(page []byte) []string {
	return slices.DeleteFunc(strings.Split(string(page), "\n"), func(line string) bool { return strings.HasPrefix(line, "  - `") })
}

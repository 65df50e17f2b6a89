// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	mutex sync.Mutex
	// messages are the texts by file and case. With Update a file begins empty.
	messages = map[string]map[string]string{}
)

// Message fails the test unless its case got the text that testdata/messages/<test>.txt has for it. An empty text has
// no entry. A test without subtests names its cases.
func Message(t testing.TB, name, got string) {
	t.Helper()
	mutex.Lock()
	defer mutex.Unlock()
	test, subtest, _ := strings.Cut(t.Name(), "/")
	key := strings.Trim(subtest+"/"+strings.ReplaceAll(name, " ", "_"), "/")
	file := filepath.Join("testdata", "messages", test+".txt")
	texts, known := messages[file]
	if !known {
		texts = map[string]string{}
		messages[file] = texts
		if !Update {
			read(t, file, texts)
		}
	}
	got = strings.TrimSpace(got)
	if Update {
		texts[key] = got
		write(t, file, texts)
	}
	if diff := cmp.Diff(texts[key], got); diff != "" {
		t.Errorf("%s of %q (-want +got):\n%s", file, key, diff)
	}
}

func read(t testing.TB, file string, texts map[string]string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for section := range strings.SplitSeq("\n"+string(data), "\n== ") {
		key, text, _ := strings.Cut(section, "\n")
		texts[key] = strings.TrimSpace(text)
	}
}

func write(t testing.TB, file string, texts map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		if texts[key] != "" {
			fmt.Fprintf(&b, "== %s\n%s\n", key, texts[key])
		}
	}
	if b.Len() == 0 {
		return
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

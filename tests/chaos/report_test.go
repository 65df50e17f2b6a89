// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

type report struct {
	mu   sync.Mutex
	rows []string
}

// add adds a row: the fault, its goal, and the measured value.
func (r *report) add(t *testing.T, fault, goal, measured string) {
	t.Helper()
	t.Logf("%s: %s (goal: %s)", fault, measured, goal)
	r.mu.Lock()
	defer r.mu.Unlock()
	name, _, _ := strings.Cut(t.Name(), "/")
	r.rows = append(r.rows, fmt.Sprintf("| %s | %s | %s | %#q |\n", fault, goal, measured, name))
}

// print prints the table, and writes it to the file that LLSD_CHAOS_REPORT names.
func (r *report) print() error {
	if len(r.rows) == 0 {
		return nil
	}
	text := "| fault | goal | measured | test |\n|---|---|---|---|\n" + strings.Join(r.rows, "")
	fmt.Print("\n", text)
	if file := os.Getenv("LLSD_CHAOS_REPORT"); file != "" {
		return os.WriteFile(file, []byte(text), 0o600)
	}
	return nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// reportFile is the environment variable that names the file of the report.
const reportFile = "LLSD_HOSTILE_REPORT"

type row struct {
	input, answer string
	took, cpu     time.Duration
	peak          int64
}

// report collects the results of the inputs, and how long other resources' edits took meanwhile.
type report struct {
	mu    sync.Mutex
	rows  []row
	edits []time.Duration
}

func (r *report) add(one row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = append(r.rows, one)
}

func (r *report) edited(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edits = append(r.edits, took)
}

func (r *report) peak() (most int64) {
	for _, one := range r.rows {
		most = max(most, one.peak)
	}
	return most
}

func (r *report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := &strings.Builder{}
	fmt.Fprintf(b, "%d inputs.", len(r.rows))
	if n := len(r.edits); n > 0 {
		slices.Sort(r.edits)
		round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
		fmt.Fprintf(b, " Meanwhile %d edits of another resource were applied: half of them within %s, 95 %% within %s, all within %s.",
			n, round(r.edits[n/2]), round(r.edits[n*95/100]), round(r.edits[n-1]))
	}
	b.WriteString("\n\n| input | answer | time | CPU | peak of memory |\n|---|---|---|---|---|\n")
	for _, one := range r.rows {
		fmt.Fprintf(b, "| %s | %s | %.1f s | %.2f s | %d MiB |\n",
			one.input, brief(one.answer), one.took.Seconds(), one.cpu.Seconds(), one.peak>>20)
	}
	return b.String()
}

// brief returns the beginning of an answer as a table cell.
func brief(answer string) string {
	text := strings.NewReplacer("|", `\|`, "\n", " ", "`", "'").Replace(strings.ToValidUTF8(answer, "?"))
	if runes := []rune(text); len(runes) > 240 {
		text = string(runes[:240]) + "…"
	}
	return text
}

// print writes the report to the file that LLSD_HOSTILE_REPORT names, if any, and to the log of a verbose test. In the
// log of another test it would hide the failure.
func (r *report) print(t *testing.T) {
	t.Helper()
	text := r.String()
	if testing.Verbose() {
		t.Log("\n" + text)
	}
	if file := os.Getenv(reportFile); file != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

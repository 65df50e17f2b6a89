// SPDX-License-Identifier: Apache-2.0

package step

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// Problems fails the test unless the reasons and paths of the problems are as wanted, and their texts as in the golden
// file of the test. The name is that of the case, if the test has no subtests.
func Problems(t testing.TB, name string, found *problem.Collector, want string) {
	t.Helper()
	if diff := cmp.Diff(want, Reasons(found)); diff != "" {
		t.Errorf("%s: problems (-want +got):\n%s", name, diff)
	}
	expect.Message(t, name, Texts(found))
}

// Reasons returns a line for each problem: "Warning" for a warning, then reason, path and, if the detail begins with a
// place in the configuration, that place.
func Reasons(problems *problem.Collector) string {
	var b strings.Builder
	for _, p := range problems.List() {
		if p.Severity == problem.Warning {
			b.WriteString("Warning ")
		}
		b.WriteString(string(p.Reason) + " " + p.Path + place(p.Detail) + "\n")
	}
	return b.String()
}

func place(detail string) string {
	at, _, found := strings.Cut(detail, ": ")
	if !found || strings.Contains(at, " ") {
		return ""
	}
	return ": " + at
}

// Texts returns a line for each problem: "Warning" for a warning, then reason, path, detail and fix.
func Texts(problems *problem.Collector) string {
	var b strings.Builder
	for _, p := range problems.List() {
		if p.Severity == problem.Warning {
			b.WriteString("Warning ")
		}
		b.WriteString(string(p.Reason) + " " + p.String() + "\n")
	}
	return b.String()
}

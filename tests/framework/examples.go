// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// ExpectExample checks that one of the reported problems is the example that docs/status.md shows of the reason.
func ExpectExample(t testing.TB, reason problem.Reason, reported problem.List) {
	t.Helper()
	for _, row := range problem.Rows() {
		if row.Reason != reason {
			continue
		}
		want := problem.New(row.Example)
		for _, p := range reported {
			if p.Reason == reason && p.String() == want.String() && p.Type == want.Type && p.Severity == want.Severity {
				return
			}
		}
		t.Errorf("%s: the example of docs/status.md is\n%s\nreported is\n%s", reason, want, reported.Message())
		return
	}
	t.Errorf("there is no reason %s", reason)
}

// SPDX-License-Identifier: Apache-2.0

package step

import (
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Reasons returns a line for each problem: "Warning" for a warning, then reason, path and, if the detail begins with a
// place in the configuration, that place. The texts belong into expect.Messages.
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

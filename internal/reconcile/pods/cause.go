// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// maxKeptLog is slightly less than the bytes of a log's end that the kubelet keeps in the pod's status.
const maxKeptLog = 2000

var (
	// exception matches the end of a Python traceback.
	exception = regexp.MustCompile(`^[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Failure)\b(:|$)`)
	// details match pydantic's suffix of an error, which contains the value.
	details = regexp.MustCompile(`\s*\[type=.*$`)
	// ignoredLines matches lines without a cause, such as frames of tracebacks.
	ignoredLines = regexp.MustCompile(`^\s*($|For further information visit |[│╭╰╯╮─┃━])`)
)

// cause returns the last exception in a log, else its end, or "" unless all of the pod's secret values can be redacted.
func cause(log string, p *corev1.Pod, known *Secrets) string {
	if !known.matches(p) {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(log, "")), "\n")
	if len(log) >= maxKeptLog {
		lines = lines[1:] // the cut may be within a secret value
	}
	last := ""
	for i, line := range slices.Backward(lines) {
		line = strings.TrimRight(line, "\r ")
		switch {
		case ignoredLines.MatchString(line):
		case exception.MatchString(line):
			return secret.Redact(printable(withFirstDetail(line, lines[i+1:])), known.Values)
		case last == "":
			last = line
		}
	}
	return secret.Redact(printable(last), known.Values)
}

// withFirstDetail appends the field and its error from the next lines to "ValidationError: 1 validation error for X".
func withFirstDetail(line string, following []string) string {
	if !strings.Contains(line, "validation error") || len(following) < 2 {
		return line
	}
	return line + ": " + strings.TrimSpace(following[0]) + ": " +
		details.ReplaceAllString(strings.TrimSpace(following[1]), "")
}

// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// keptOfLog is how much of a log the kubelet keeps in the status of a pod, in bytes, less a little: of a longer one the
// beginning is cut off.
const keptOfLog = 2000

var (
	// exception is how Python ends a traceback.
	exception = regexp.MustCompile(`^[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Failure)\b(:|$)`)
	// details are what pydantic, whose errors are long, adds to one: the value among it.
	details = regexp.MustCompile(`\s*\[type=.*$`)
	// noise is what names no cause: the frames of tracebacks, say.
	noise = regexp.MustCompile(`^\s*($|For further information visit |[│╭╰╯╮─┃━])`)
)

// cause is what reports in a log why the server ended: the last exception, else the end. It is empty where nobody knows
// which values of Secrets may be in it.
func cause(log string, p *corev1.Pod, known *Secrets) string {
	if !known.coverPod(p) {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(log, "")), "\n")
	if len(log) >= keptOfLog {
		lines = lines[1:] // cut, perhaps within a secret value
	}
	last := ""
	for i, line := range slices.Backward(lines) {
		line = strings.TrimRight(line, "\r ")
		switch {
		case noise.MatchString(line):
		case exception.MatchString(line):
			return secret.Redact(printable(withFirstDetail(line, lines[i+1:])), known.Values)
		case last == "":
			last = line
		}
	}
	return secret.Redact(printable(last), known.Values)
}

// withFirstDetail adds to "ValidationError: 1 validation error for X" the field and what is wrong with it, which
// follow.
func withFirstDetail(line string, following []string) string {
	if !strings.Contains(line, "validation error") || len(following) < 2 {
		return line
	}
	return line + ": " + strings.TrimSpace(following[0]) + ": " +
		details.ReplaceAllString(strings.TrimSpace(following[1]), "")
}

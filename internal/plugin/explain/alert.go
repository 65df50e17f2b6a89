// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/config/prometheus"
)

type alert struct {
	Name       string `json:"name"`
	Severity   string `json:"severity"`
	Summary    string `json:"summary"`
	Meaning    string `json:"meaning"`
	Remedy     string `json:"remedy"`
	Expression string `json:"expression"`
	For        string `json:"for"`
}

// findAlert returns an alert by name; nil if it does not exist.
func findAlert(name string) (*alert, error) {
	alerts, err := prometheus.Alerts()
	for i := range alerts {
		if a := &alerts[i]; strings.EqualFold(a.Name, name) {
			return &alert{
				Name: a.Name, Severity: a.Labels.Severity, Summary: prometheus.InWords(a.Annotations.Summary),
				Meaning: a.Annotations.Description,
				Remedy:  prometheus.InWords(a.Annotations.Action), Expression: a.Expression, For: a.For,
			}, nil
		}
	}
	return nil, err
}

func alertNames() []string {
	alerts, _ := prometheus.Alerts() // covered by a test
	var names []string
	for i := range alerts {
		names = append(names, alerts[i].Name)
	}
	return names
}

func (a *alert) print(out io.Writer) {
	printHeader(out, [2]string{"ALERT", a.Name}, [2]string{"SEVERITY", a.Severity})
	paragraph(out, "MEANING", a.Summary+" "+a.Meaning)
	paragraph(out, "WHAT TO DO", a.Remedy)
	paragraph(out, "FIRES AFTER", a.For+" of:")
	_, _ = fmt.Fprintf(out, "  %s\n", a.Expression)
}

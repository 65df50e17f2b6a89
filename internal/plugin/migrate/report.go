// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
)

// migrateOwnFile rewrites a resource that brings its own configuration, and reports what became of each part of the
// file.
func migrateOwnFile(ctx context.Context, cluster *offline.Cluster, d *manifest.Document, object map[string]any,
	before *offline.Resource, assumption string, notes io.Writer) ([]any, bool, error) {
	line := before.Desired.Distribution.Line
	m, after, err := migrateFile(ctx, cluster, d, object, line, before)
	if err != nil {
		return nil, false, err
	}
	if after.Failed() {
		after.Print(notes)
		return nil, false, nil
	}
	var backends []string
	for _, p := range m.pieces {
		if p.field[1] == "storage" {
			backends = append(backends, p.source)
		}
	}
	c, err := compareFile(before, after, line, backends)
	if err != nil {
		return nil, false, err
	}
	m.print(notes, before.Name(), assumption, c)
	return append(m.secrets, m.object), true, nil
}

func (m *fileMigration) print(w io.Writer, name, assumption string, c *fileComparison) {
	var b strings.Builder
	list := func(title string, texts []string) {
		if len(texts) > 0 {
			b.WriteString("  " + title + ":\n    " + strings.Join(texts, "\n    ") + "\n")
		}
	}
	b.WriteString(name + ":\n")
	if assumption != "" {
		list("assumed", []string{assumption})
	}
	var moved, disabled []string
	for _, p := range m.pieces {
		if p.field[1] == "disabled" {
			disabled = append(disabled, fmt.Sprint(p.value))
			continue
		}
		moved = append(moved, p.source+" became "+m.pathOf(p))
	}
	if len(disabled) > 0 {
		moved = append(moved, "apis became spec.disabled, with "+strings.Join(disabled, ", "))
	}
	if m.directory != "" {
		moved = append(moved, "the directory of the SQLite files became the variable "+sqliteVariable)
	}
	list("moved from the file", moved)
	if len(m.defaults) > 0 {
		list("as the distribution has it", []string{strings.Join(m.defaults, ", ")})
	}
	list("not in the spec", m.dropped)
	var secrets []string
	for _, s := range m.secrets {
		secrets = append(secrets, "fill in Secret "+unstructuredName(s.(map[string]any))+" before you apply it")
	}
	list("credentials", secrets)
	list("the distribution adds", c.added)
	list("the distribution does not have", c.missing)
	list("state that moves: it is not copied", c.state)
	list("different", c.different)
	if len(c.added)+len(c.missing)+len(c.different)+len(c.state)+len(m.dropped) == 0 {
		b.WriteString("  verified: the configuration is the same\n")
	} else {
		b.WriteString("  verified: apart from these lines, the configuration is the same\n")
	}
	if c.restarts {
		b.WriteString("  applying the result restarts the pods once\n")
	}
	_, _ = io.WriteString(w, b.String())
}

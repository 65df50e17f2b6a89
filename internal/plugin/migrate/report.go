// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
)

// migrateOwnFile rewrites a resource that brings its own configuration, and reports what became of each part of the
// file.
func migrateOwnFile(ctx context.Context, cluster *offline.Cluster, d *manifest.Document, object map[string]any,
	before *offline.Resource, assumption string, notes io.Writer) ([]any, bool, error) {
	line := before.Desired.Distribution.Line
	written, err := document.Read(ownFile(before))
	if err != nil {
		return nil, false, fmt.Errorf("the configuration in spec.overrideConfig: %w", err)
	}
	before, changes, err := rewritten(before, line)
	if err != nil {
		return nil, false, err
	}
	m, after, err := migrateFile(ctx, cluster, d, object, line, written, before, assumption != "")
	if err != nil {
		return nil, false, err
	}
	if after.Failed() {
		after.Print(notes)
		return nil, false, nil
	}
	for i := range changes {
		c := &changes[i]
		if m.has("telemetry") && strings.Contains(c.Path+" "+c.Detail, "telemetry") {
			continue // moved
		}
		if (c.Action == migrate.Removed || c.Action == migrate.Kept) && !strings.HasPrefix(c.Detail, "the empty ") {
			m.drop(c.Path, c.Detail+": "+c.Reason)
		}
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
	var moved []string
	if assumption == "" {
		m.object, moved, _ = moveVariables(ctx, cluster, d, m.object)
	}
	m.print(notes, before.Name(), assumption, moved, c)
	return append(m.secrets, m.object), true, nil
}

// rewritten returns the resource with its own configuration as the release line reads it.
func rewritten(before *offline.Resource, line *catalog.Line) (*offline.Resource, []migrate.Change, error) {
	content, changes, err := rewriteFile(ownFile(before), line)
	if err != nil {
		return nil, nil, fmt.Errorf("the configuration in spec.overrideConfig: %w", err)
	}
	resource, desired := *before, *before.Desired
	desired.OverrideContent = content
	resource.Desired = &desired
	return &resource, changes, nil
}

// has reports whether a part of the file became this field, the last one of its path.
func (m *fileMigration) has(field string) bool {
	return slices.ContainsFunc(m.pieces, func(p *piece) bool { return p.field[len(p.field)-1] == field })
}

func (m *fileMigration) print(w io.Writer, name, assumption string, variables []string, c *fileComparison) {
	var b strings.Builder
	list := func(title string, texts []string) { writeList(&b, title, texts) }
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
	list("moved from variables", variables)
	if len(m.defaults) > 0 {
		list("as the distribution has it", []string{strings.Join(m.defaults, ", ")})
	}
	list("left out", m.dropped)
	var secrets []string
	for _, s := range m.secrets {
		secret := unstructured.Unstructured{Object: s.(map[string]any)}
		secrets = append(secrets, "fill in Secret "+secret.GetName()+" before you apply it")
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

// writeList writes lines below their title, if there are any.
func writeList(b *strings.Builder, title string, lines []string) {
	for i, line := range lines {
		if i == 0 {
			b.WriteString("  " + title + ":\n")
		}
		b.WriteString("    " + line + "\n")
	}
}

// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
	serverconfig "github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
)

// configKeys are the keys of a ConfigMap that hold a server's configuration.
var configKeys = []string{names.ConfigKey, "run.yaml"}

// lineFlag is the flag --to.
type lineFlag struct {
	name string
	line *catalog.Line
}

func (f *lineFlag) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.name, "to", "", "release line that shall read the file, such as 1.5")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(catalog.Lines(), cobra.ShellCompDirectiveNoFileComp))
}

var errOutputOfLine = errors.New("--to and --output exclude each other: the result has the form of the file")

// check finds the release line.
func (f *lineFlag) check(output cli.Output) error {
	line, match := catalog.ForVersion(f.name)
	switch {
	case f.name == "":
		return nil
	case match != catalog.KnownLine:
		return fmt.Errorf("--to %q: not a release of a known release line: the known release lines are %s", f.name,
			strings.Join(catalog.Lines(), ", "))
	case output.MachineReadable():
		return errOutputOfLine
	}
	f.line = line
	return nil
}

var errNoConfigurations = errors.New("no config.yaml of a server or ConfigMap with one in the files of --filename")

// run rewrites the configurations in the files, and prints all documents. It fails if the server refuses a result.
func (f *lineFlag) run(ctx context.Context, resources *files.Resources, streams cli.Streams) error {
	documents, err := resources.Read(streams.In)
	if err != nil {
		return cli.Fail(err)
	}
	r := &lineRewriting{line: f.line}
	var result bytes.Buffer
	for i, d := range documents {
		text, err := r.document(ctx, d)
		if err != nil {
			return cli.Fail(fmt.Errorf("%s: %w", d.Position(), err))
		}
		if i > 0 {
			result.WriteString("---\n")
		}
		result.Write(text)
		if !bytes.HasSuffix(text, []byte("\n")) {
			result.WriteByte('\n')
		}
	}
	if r.count == 0 {
		return cli.Fail(errNoConfigurations)
	}
	if _, err := streams.Out.Write(result.Bytes()); err != nil {
		return cli.Fail(err)
	}
	if _, err := io.WriteString(streams.Err, r.notes.String()); err != nil || !r.refused {
		return cli.Fail(err)
	}
	return &cli.InputError{}
}

// lineRewriting is the state of run.
type lineRewriting struct {
	line  *catalog.Line
	notes strings.Builder
	// count is the number of configurations; refused means that the server refuses one.
	count   int
	refused bool
}

// document returns the text of a document with its configurations rewritten.
func (r *lineRewriting) document(ctx context.Context, d *manifest.Document) ([]byte, error) {
	text, begin := d.Text()
	if text == nil {
		var err error
		if text, err = cli.YAML(d.Object); err != nil {
			return nil, err
		}
	}
	if begin > 1 {
		_, text, _ = bytes.Cut(text, []byte("\n")) // the separator
	}
	if isConfiguration(d.Object) {
		return r.configuration(ctx, d.File, begin, text)
	}
	if data, ok := d.Object["data"].(map[string]any); ok && d.Kind() == "ConfigMap" && d.APIVersion() == "v1" {
		return r.configMap(ctx, d, data, text)
	}
	return text, nil
}

// isConfiguration reports whether a document is the configuration of a server.
func isConfiguration(object map[string]any) bool {
	if object["kind"] != nil || object["apiVersion"] != nil {
		return false
	}
	return object["providers"] != nil || object["apis"] != nil || fmt.Sprint(object["version"]) == "2"
}

// configMap rewrites the configurations in a ConfigMap, and keeps its comments.
func (r *lineRewriting) configMap(ctx context.Context, d *manifest.Document, data map[string]any,
	text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	changed := false
	for _, key := range configKeys {
		content, ok := data[key].(string)
		var object map[string]any
		if !ok || yaml.Unmarshal([]byte(content), &object) != nil || !isConfiguration(object) {
			continue
		}
		result, err := r.configuration(ctx, d.Name()+": "+key, 1, []byte(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		n := document.Descend(doc.Content[0], []string{"data", key})
		if n == nil || string(result) == content {
			continue
		}
		n.SetString(string(result))
		changed = true
	}
	if !changed {
		return text, nil
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	err := errors.Join(encoder.Encode(&doc), encoder.Close())
	return b.Bytes(), err
}

// actionTitles are the headings of the changes, in order.
var actionTitles = []struct {
	action serverconfig.Action
	title  string
}{
	{serverconfig.Rewritten, "rewritten"}, {serverconfig.Added, "added"}, {serverconfig.Removed, "removed"},
	{serverconfig.Kept, "for you to change"},
}

// effectTitles are the headings of the findings, in order.
var effectTitles = []struct {
	effect lint.Effect
	title  string
}{
	{lint.Refused, "the server does not start with this"}, {lint.Ignored, "the server ignores this"},
	{lint.Exposed, "secrets in plain text"}, {lint.Shared, "storage of several parts"},
}

// rewriteFile rewrites a configuration for a release line. The error of another file says how to fix it.
func rewriteFile(content []byte, line *catalog.Line) ([]byte, []serverconfig.Change, error) {
	result, changes, err := serverconfig.Rewrite(content, line)
	if refused, ok := errors.AsType[*document.BaseError](err); ok {
		return nil, nil, fmt.Errorf("%s: %s", refused.Reason, document.BaseFix)
	}
	return result, changes, err
}

// configuration rewrites a configuration, and notes the changes and what is still wrong. begin is its first line.
func (r *lineRewriting) configuration(ctx context.Context, name string, begin int, text []byte) ([]byte, error) {
	result, changes, err := rewriteFile(text, r.line)
	if err != nil {
		return nil, err
	}
	r.count++
	findings := lint.Check(ctx, &lint.Input{Content: result, Line: r.line})
	fmt.Fprintf(&r.notes, "%s for release line %s:\n", name, r.line.Name)
	for _, group := range actionTitles {
		var lines []string
		for i := range changes {
			if c := changes[i]; c.Action == group.action {
				if c.Line > 0 {
					c.Line += max(begin-1, 0)
				}
				lines = append(lines, fmt.Sprintf("%s %s: %s", place(c.Line), c.Path+" "+c.Detail, c.Reason))
			}
		}
		writeList(&r.notes, group.title, lines)
	}
	for _, group := range effectTitles {
		var lines []string
		for i := range findings {
			if f := &findings[i]; f.Effect == group.effect {
				lines = append(lines, strings.TrimSuffix(f.At("result")+": "+f.Detail+": "+f.Fix, ": "))
			}
		}
		writeList(&r.notes, group.title, lines)
	}
	isKept := func(c serverconfig.Change) bool { return c.Action == serverconfig.Kept }
	switch {
	case slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Effect == lint.Refused }):
		r.refused = true
	case slices.ContainsFunc(changes, isKept):
		fmt.Fprintf(&r.notes, "  release line %s takes the result when you have changed what is listed\n", r.line.Name)
	case serverconfig.Changed(changes):
		fmt.Fprintf(&r.notes, "  release line %s takes the result\n", r.line.Name)
	default:
		fmt.Fprintf(&r.notes, "  unchanged: release line %s takes it as it is\n", r.line.Name)
	}
	return result, nil
}

func place(line int) string {
	if line == 0 {
		return "-:"
	}
	return fmt.Sprintf("%d:", line)
}

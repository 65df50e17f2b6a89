// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
)

const long = `Migrate custom resources that configure providers by environment variables (VLLM_URL, INFERENCE_MODEL,
...), that bring a configuration of their own (userConfig, overrideConfig), or that are written in v1alpha1, to
v1alpha2 with spec.providers and spec.resources. No cluster is needed.

The command renders the configuration of both with the operator's own code and compares them. Standard error lists
what was moved, what stays, and in what the configurations differ. If environment variables become fields, an
unintended difference is an error, and nothing is printed. A configuration of one's own needs its ConfigMap among the
files. The result leaves out what the spec has no field for, and standard error names it. Credentials in plain text
become manifests of Secrets to fill in. Documents of other kinds are printed unchanged.

A file that is a configuration itself (config.yaml, run.yaml) becomes a resource of its own.

With --to, the files are a server's configuration (config.yaml or run.yaml) or a ConfigMap with it, of any release from
llama-stack 0.2 on. The command prints them as the other release line reads them. Standard error lists each change with
its reason, then what the server would still refuse or ignore. The result is printed in any case; the exit code is 1 if
the server would not start with it.`

const examples = `  # A manifest in the style of release 0.9
  kubectl llamastack migrate -f my-stack.yaml > my-stack-v1alpha2.yaml

  # What the cluster has
  kubectl get llsd my-stack -o yaml | kubectl llamastack migrate -f -

  # A resource with a configuration of its own, in the ConfigMap of the second file
  kubectl llamastack migrate -f my-stack.yaml -f my-config.yaml > my-stack-v1alpha2.yaml

  # A config.yaml, run.yaml or its ConfigMap, for another release line of the server
  kubectl llamastack migrate -f run.yaml --to 1.5 > config.yaml`

type options struct {
	files    files.Resources
	settings files.Settings
	output   cli.Output
	to       lineFlag
}

// New returns the migrate command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "migrate -f FILE",
		Short:   "Migrate environment variables to providers in v1alpha2",
		Long:    long,
		Example: examples,
		Args:    files.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.output.Check(), o.settings.CheckStdin(o.files.Names...), o.to.check(o.output)); err != nil {
				return err
			}
			if o.to.name != "" {
				return o.to.run(cmd.Context(), &o.files, streams)
			}
			return cli.Fail(o.run(cmd.Context(), streams))
		},
	}
	o.files.AddTo(cmd)
	o.settings.AddTo(cmd)
	o.output.AddTo(cmd)
	o.to.addTo(cmd)
	return cmd
}

var errFailed = errors.New("nothing is printed, because of these errors")

// run rewrites the documents and prints them if the result is equivalent.
func (o *options) run(ctx context.Context, streams cli.Streams) error {
	cluster, err := o.settings.Cluster(streams.In)
	if err != nil {
		return err
	}
	documents, err := o.files.Read(streams.In)
	if err != nil {
		return err
	}
	documents, given := withResources(ctx, documents, streams.Err)
	cluster.SetConfigMaps(given)
	var list []any
	count, failed := 0, false
	for _, d := range documents {
		if !offline.Recognizes(d) {
			list = append(list, d.Object)
			continue
		}
		count++
		objects, ok, err := migrateDocument(ctx, cluster, d, streams.Err)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Position(), err)
		}
		failed = failed || !ok
		list = append(list, objects...)
	}
	switch {
	case failed:
		return errFailed
	case count == 0:
		return files.ErrNoResources
	}
	return o.print(streams.Out, list)
}

func (o *options) print(w io.Writer, list []any) error {
	yamlOutput := &cli.Output{}
	yamlOutput.SetYAML()
	if o.output.MachineReadable() && len(list) > 1 {
		return o.output.Print(w, map[string]any{"apiVersion": "v1", "kind": "List", "items": list}, nil)
	}
	for i, object := range list {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if err := o.output.Print(w, object, func(w io.Writer) error { return yamlOutput.Print(w, object, nil) }); err != nil {
			return err
		}
	}
	return nil
}

// migrateDocument returns the rewritten document, after manifests of the Secrets that it needs. It returns false after printing
// errors.
func migrateDocument(ctx context.Context, cluster *offline.Cluster, d *manifest.Document, notes io.Writer) ([]any, bool, error) {
	converted := cluster.Convert(ctx, d, v1alpha2.GroupVersion.Version)
	if converted.Failed() {
		cluster.DryRun(ctx, d).Print(notes)
		return nil, false, nil
	}
	object := runtime.DeepCopyJSON(converted.Object)
	delete(object, "status")
	cluster, assumption := assume(ctx, running(ctx, cluster, d), d, object)
	before := cluster.DryRun(ctx, d)
	if before.Failed() {
		before.Print(notes)
		return nil, false, nil
	}
	distribution, err := cluster.Distribution(object)
	if err != nil {
		return nil, false, err
	}
	if content := ownFile(before); content != nil {
		return migrateOwnFile(ctx, cluster, d, object, before, assumption, notes)
	}
	var moved []string
	var kept []keptVariable
	if assumption == "" {
		object, moved, kept = moveVariables(ctx, cluster, d, object)
	}
	r := rewrite(object, distribution, assumption != "", moved, kept)
	after := cluster.DryRun(ctx, &manifest.Document{File: d.File, Line: d.Line, Object: object})
	if after.Failed() {
		after.Print(notes)
		return nil, false, nil
	}
	p, err := compareEffective(before, after, modelNames(object))
	if err != nil {
		return nil, false, err
	}
	report(notes, before.Name(), assumption, r, p)
	return []any{object}, len(p.different) == 0, nil
}

func modelNames(object map[string]any) []string {
	models, _, _ := unstructured.NestedSlice(object, "spec", "resources", "models")
	var names []string
	for _, item := range models {
		model, _ := item.(map[string]any)
		if name, ok := model["name"].(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func report(w io.Writer, name, assumption string, r *rewriting, p *comparison) {
	var b strings.Builder
	list := func(title string, texts []string) { writeList(&b, title, texts) }
	b.WriteString(name + ":\n")
	if assumption != "" {
		list("assumed", []string{assumption})
	}
	list("moved", r.moved)
	var kept []string
	for _, s := range r.kept {
		kept = append(kept, s.text)
	}
	list("unchanged", kept)
	list("improved", p.improved)
	list("changed", p.changed)
	list("ERROR: unintended differences", p.different)
	switch {
	case len(p.different) > 0:
	case len(p.improved) > 0:
		b.WriteString("  verified: apart from the improvements, the configuration is the same\n")
	default:
		b.WriteString("  verified: the configuration is the same\n")
	}
	if p.restarts {
		b.WriteString("  applying the result restarts the pods once\n")
	}
	_, _ = io.WriteString(w, b.String())
}

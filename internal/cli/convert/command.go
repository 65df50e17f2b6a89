// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/command"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/offline"
)

// options are the flags.
type options struct {
	files    files.Resources
	to       string
	output   string
	settings files.Settings
}

// What --output takes.
const (
	formatYAML = "yaml"
	formatJSON = "json"
)

func formats() []string { return []string{formatYAML, formatJSON} }

const long = `Convert LlamaStackDistributions to the other version of the API, without a cluster.

The command uses the operator's own code, so nothing is lost: the annotation llamastack.io/conversion keeps values without a field
in the other version. Warnings report what to check afterwards. Documents of other kinds are printed unchanged. If there is an error,
nothing is printed.`

const examples = `  # A v1alpha1 manifest in v1alpha2
  kubectl llamastack convert -f my-stack.yaml --to v1alpha2

  # In the other direction
  kubectl llamastack convert -f my-stack.yaml --to v1alpha1

  # Everything in a directory
  kubectl llamastack convert -f deploy/ --to v1alpha2 > converted.yaml`

// New returns the command.
func New(streams command.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "convert -f FILE --to VERSION",
		Short:   "Convert resources to the other version of the API",
		Long:    long,
		Example: examples,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams)
		},
	}
	flags := cmd.Flags()
	o.files.AddTo(cmd)
	flags.StringVar(&o.to, "to", "", "the version to convert to: "+strings.Join(offline.Versions(), ", "))
	flags.StringVarP(&o.output, "output", "o", formatYAML, "how to print: "+strings.Join(formats(), ", "))
	o.settings.AddTo(cmd)
	_ = cmd.MarkFlagRequired("to")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(offline.Versions(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check reports what is wrong with the command line.
func (o *options) check() error {
	switch {
	case !slices.Contains(offline.Versions(), o.to):
		return fmt.Errorf("--to %q: choose one of %s", o.to, strings.Join(offline.Versions(), ", "))
	case !slices.Contains(formats(), o.output):
		return fmt.Errorf("--output %q: choose one of %s", o.output, strings.Join(formats(), ", "))
	}
	return o.settings.CheckStdin(o.files.Names...)
}

// run is the verb: gather, convert, print.
func (o *options) run(ctx context.Context, streams command.Streams) error {
	cluster, err := o.settings.Cluster(streams.In)
	if err != nil {
		return command.Fail(err)
	}
	documents, err := o.files.Read(streams.In)
	if err != nil {
		return command.Fail(err)
	}
	var list []map[string]any
	count, failed := 0, false
	for _, d := range documents {
		if !offline.Recognizes(d) {
			list = append(list, d.Object)
			continue
		}
		count++
		converted := cluster.Convert(ctx, d, o.to)
		converted.Print(streams.Err)
		failed = failed || converted.Failed()
		list = append(list, converted.Object)
	}
	switch {
	case failed:
		return &command.InputError{}
	case count == 0:
		return command.Fail(files.ErrNothing)
	}
	text, err := encode(list, o.output)
	if err != nil {
		return command.Fail(err)
	}
	_, err = streams.Out.Write(text)
	return command.Fail(err)
}

// encode writes the objects as kubectl does: YAML documents with sorted keys, or one JSON object, a List of several.
func encode(list []map[string]any, format string) ([]byte, error) {
	var out bytes.Buffer
	if format == formatYAML {
		for i, object := range list {
			text, err := yaml.Marshal(object)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				out.WriteString("---\n")
			}
			out.Write(text)
		}
		return out.Bytes(), nil
	}
	var content any = map[string]any{"apiVersion": "v1", "kind": "List", "items": list}
	if len(list) == 1 {
		content = list[0]
	}
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	err := encoder.Encode(content)
	return out.Bytes(), err
}

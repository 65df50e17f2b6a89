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

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

type options struct {
	files    files.Resources
	to       string
	output   string
	settings files.Settings
	// acceptLoss prints the result although the target kind cannot express every field.
	acceptLoss bool
}

const (
	formatYAML = "yaml"
	formatJSON = "json"
)

func formats() []string { return []string{formatYAML, formatJSON} }

// targets returns the values of --to: versions, and apiVersions of kinds.
func targets() []string { return append(offline.Versions(), offline.Kinds()...) }

// betweenKinds reports whether --to is the apiVersion of a kind.
func (o *options) betweenKinds() bool { return slices.Contains(offline.Kinds(), o.to) }

const long = `Convert LlamaStackDistributions to the other version of the API, or to the kind OGXServer and back,
without a cluster.

The command uses the operator's own code. Conversion between v1alpha1 and v1alpha2 loses nothing: the annotation
llamastack.io/conversion keeps values that have no field in the other version. Warnings name what to check afterwards.
Documents of other kinds are printed unchanged. If there is an error, nothing is printed.

OGXServer is the kind of the operator of OGX, the successor of llama-stack. Neither kind can express everything that
the other can. If a field would be lost, the command prints nothing, ends with exit status 1 and lists on standard error
each lost field with the type of its value and a way to keep it. With --accept-loss, it prints the result without these
fields, and lists them as warnings; -o json also lists them under notConverted, next to the items. The result respects
the limits of OGXServer's schema.`

const examples = `  # A v1alpha1 manifest in v1alpha2
  kubectl llamastack convert -f my-stack.yaml --to v1alpha2

  # In the other direction
  kubectl llamastack convert -f my-stack.yaml --to v1alpha1

  # To the kind of OGX' operator, and back
  kubectl llamastack convert -f my-stack.yaml --to ogx.io/v1beta1
  kubectl llamastack convert -f my-server.yaml --to llamastack.io/v1alpha2

  # Although the other kind cannot express every field
  kubectl llamastack convert -f my-stack.yaml --to ogx.io/v1beta1 --accept-loss

  # Everything in a directory
  kubectl llamastack convert -f deploy/ --to v1alpha2 > converted.yaml`

// New returns the convert command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "convert -f FILE --to VERSION",
		Short:   "Convert resources to the other version of the API, or to OGXServer and back",
		Long:    long,
		Example: examples,
		Args:    files.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams)
		},
	}
	flags := cmd.Flags()
	o.files.AddTo(cmd)
	flags.StringVar(&o.to, "to", "", "version or kind to convert to: "+strings.Join(targets(), ", "))
	flags.StringVarP(&o.output, "output", "o", formatYAML, "output format: "+strings.Join(formats(), ", "))
	flags.BoolVar(&o.acceptLoss, "accept-loss", false, "print the result although the other kind cannot express every field")
	o.settings.AddTo(cmd)
	_ = cmd.MarkFlagRequired("to")
	_ = cmd.RegisterFlagCompletionFunc("to", cobra.FixedCompletions(targets(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *options) check() error {
	switch {
	case !slices.Contains(targets(), o.to):
		return fmt.Errorf("--to %q: choose one of %s", o.to, strings.Join(targets(), ", "))
	case !slices.Contains(formats(), o.output):
		return fmt.Errorf("--output %q: choose one of %s", o.output, strings.Join(formats(), ", "))
	}
	return o.settings.CheckStdin(o.files.Names...)
}

func (o *options) run(ctx context.Context, streams cli.Streams) error {
	cluster, err := o.settings.Cluster(streams.In)
	if err != nil {
		return cli.Fail(err)
	}
	documents, err := o.files.Read(streams.In)
	if err != nil {
		return cli.Fail(err)
	}
	cluster.SetConfigMaps(documents)
	var list []map[string]any
	lost := []loss{}
	count, failed := 0, false
	for _, d := range documents {
		if !offline.Recognizes(d) && (!o.betweenKinds() || !offline.IsOGXServer(d)) {
			list = append(list, d.Object)
			continue
		}
		count++
		converted := o.convert(ctx, cluster, d)
		converted.Print(streams.Err)
		failed = failed || converted.Failed()
		list, lost = append(list, converted.Object), append(lost, losses(converted)...)
	}
	switch {
	case failed && len(lost) > 0:
		return cli.Fail(fmt.Errorf("nothing is printed, because fields would be lost (%d): keep them as described, or "+
			"accept the loss with --accept-loss", len(lost)))
	case failed:
		return &cli.InputError{}
	case count == 0:
		return cli.Fail(files.ErrNoResources)
	}
	text, err := o.encode(list, lost)
	if err != nil {
		return cli.Fail(err)
	}
	_, err = cli.MachineReadable(streams.Out).Write(text)
	return cli.Fail(err)
}

func (o *options) convert(ctx context.Context, cluster *offline.Cluster, d *manifest.Document) *offline.Converted {
	if o.betweenKinds() {
		loss := problem.Error
		if o.acceptLoss {
			loss = problem.Warning
		}
		return cluster.ConvertKind(ctx, d, o.to, loss)
	}
	return cluster.Convert(ctx, d, o.to)
}

// loss is a field that the target kind cannot express.
type loss struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Resource  string `json:"resource"`
	Path      string `json:"path"`
	ValueType string `json:"valueType"`
	Message   string `json:"message"`
}

func losses(c *offline.Converted) []loss {
	var list []loss
	for _, l := range c.Lost {
		list = append(list, loss{c.Document.File, c.Line(l.Problem), c.Name(), l.Path, l.ValueType, l.Body()})
	}
	return list
}

func (o *options) encode(list []map[string]any, lost []loss) ([]byte, error) {
	switch {
	case o.output == formatYAML:
		return encodeYAML(list)
	case o.betweenKinds():
		return encodeJSON(map[string]any{"items": list, "notConverted": lost})
	case len(list) == 1:
		return encodeJSON(list[0])
	}
	return encodeJSON(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
}

// encodeYAML encodes the objects as documents with sorted keys, as kubectl does.
func encodeYAML(list []map[string]any) ([]byte, error) {
	var out bytes.Buffer
	for i, object := range list {
		text, err := cli.YAML(object)
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

func encodeJSON(content any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "    ")
	err := encoder.Encode(content)
	return out.Bytes(), err
}

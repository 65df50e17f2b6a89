// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/config/policy"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admissionpolicy"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/files"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

type options struct {
	files     []string
	recursive bool
	output    string
	strict    bool
	settings  files.ClusterSettings
}

const long = `Validate LlamaStackDistributions. Only --from-cluster connects to a cluster, to read the operator's
settings.

The command runs the checks of the API server (unknown fields, schema, rules, admission policy) and reports its
messages, and the checks of the operator (providers, models, endpoints, references, features of the server release).
It does not check whether Secrets exist, and ignores documents of other kinds. With --settings or --from-cluster and
no file, it checks the operator's settings and registered distributions with their base configurations. The exit code
is 1 if there is an error, and 0 if there are only warnings, unless --strict is given.`

const examples = `  # One file
  kubectl llamastack validate -f my-stack.yaml

  # A directory and its subdirectories, as annotations of a GitHub workflow
  kubectl llamastack validate -R -f deploy/ --output github

  # With the distributions that the operator of a cluster knows, or those of a file
  kubectl llamastack validate -f my-stack.yaml --from-cluster
  kubectl llamastack validate -f my-stack.yaml --settings settings.yaml

  # The operator's settings alone
  kubectl llamastack validate --settings settings.yaml

  # In a pipeline: a warning fails, too
  kubectl llamastack validate --strict -f my-stack.yaml

  # The output of a template
  helm template my-chart | kubectl llamastack validate -f -`

// New returns the validate command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "validate -f FILE|DIR...",
		Short:   "Validate resources without a cluster",
		Long:    long,
		Example: examples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.files = append(o.files, args...)
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), streams)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.files, "filename", "f", nil,
		`file or directory; "-" is standard input. Can be repeated; the name of the flag is optional`)
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "include subdirectories")
	flags.StringVarP(&o.output, "output", "o", formatText, "output format: "+strings.Join(formats(), ", "))
	flags.BoolVar(&o.strict, "strict", false, "exit with code 1 if there is a warning, too")
	o.settings.AddTo(cmd, connect)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var errNoFiles = errors.New("no files: name them with --filename, or the operator's settings with --settings")

func (o *options) check() error {
	switch {
	case len(o.files) == 0 && !o.settings.IsSet():
		return errNoFiles
	case !slices.Contains(formats(), o.output):
		return fmt.Errorf("--output %q: choose one of %s", o.output, strings.Join(formats(), ", "))
	}
	return o.settings.CheckStdin(o.files...)
}

func (o *options) reportSettings(ctx context.Context, known *settings.Settings, streams cli.Streams) error {
	errs := 0
	problems := append(known.Problems(), known.BaseProblems(ctx)...)
	for _, p := range problems {
		severity := "warning"
		if !p.Warning {
			severity = "error"
			errs++
		}
		_, _ = fmt.Fprintf(streams.Out, "%s: %s: %v\n", o.settings.Source(), severity, p.Err)
	}
	_, _ = fmt.Fprintf(streams.Err, "settings checked, %d errors\n", errs)
	if errs > 0 || o.strict && len(problems) > 0 {
		return &cli.InputError{}
	}
	return nil
}

func (o *options) run(ctx context.Context, streams cli.Streams) error {
	simulated, err := o.settings.Cluster(ctx, streams.In, streams.Err)
	if err != nil {
		return cli.Fail(err)
	}
	if simulated.Policy, err = admissionpolicy.New(policy.Spec()); err != nil {
		return cli.Fail(err)
	}
	if len(o.files) == 0 {
		return o.reportSettings(ctx, simulated.Settings, streams)
	}
	documents, unreadable := manifest.Read(o.files, o.recursive, streams.In)
	report := check(ctx, simulated, documents, unreadable)
	if err := report.print(o.output, streams); err != nil {
		return cli.Fail(err)
	}
	o.settings.PrintAssumedNote(report.resources, streams.Err)
	if file := report.cleanFile(); file != "" && o.output == formatText {
		_, _ = fmt.Fprintln(streams.Err, file+": ok")
	}
	if !report.Valid || o.strict && len(report.Findings) > 0 {
		return &cli.InputError{}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// parse parses flags and checks the number of arguments; most < 0 means no limit.
func parse(flags *flag.FlagSet, args []string, minArgs, maxArgs int) error {
	flags.SetOutput(io.Discard) // main prints the error
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stdout)
		_, _ = fmt.Println("flags of", flags.Name())
		flags.PrintDefaults()
		return err
	} else if err != nil {
		return usageError{fmt.Errorf("%w (%s -h lists the flags)", err, flags.Name())}
	}
	if n := flags.NArg(); n < minArgs || (maxArgs >= 0 && n > maxArgs) {
		return usageError{fmt.Errorf("%s: unexpected number of arguments (%d): %q", flags.Name(), n, flags.Args())}
	}
	return nil
}

// clusterFlags has the flags that select a cluster.
type clusterFlags struct{ name, dir string }

func (p *clusterFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&p.name, "name", "default", "the cluster's `name`; determines the directory unless --dir is set")
	flags.StringVar(&p.dir, "dir", "", "the cluster's `directory`, used by nothing else (default: a directory of that name in the cache)")
}

func (p *clusterFlags) resolve() (string, error) {
	if p.dir != "" {
		return filepath.Abs(p.dir)
	}
	if p.name == "" || p.name != filepath.Base(p.name) || p.name == "." || p.name == ".." {
		return "", usageError{fmt.Errorf("--name %q: use a plain name, or --dir for a directory", p.name)}
	}
	return files.DefaultDir(p.name)
}

type tierValue struct{ tier *state.Tier }

func (v tierValue) String() string {
	if v.tier == nil {
		return ""
	}
	return string(*v.tier)
}

func (v tierValue) Set(text string) (err error) {
	*v.tier, err = state.ParseTier(text)
	return err
}

func tierFlag(flags *flag.FlagSet) *state.Tier {
	tier := state.ControlPlane
	flags.Var(tierValue{&tier}, "tier", "`controlplane` (API server, without pods) or node (runs pods; needs Linux and root)")
	return &tier
}

func kubernetesFlag(flags *flag.FlagSet) *string {
	return flags.String("kubernetes", "", "a `directory` whose go.mod pins another release of Kubernetes, such as hack/cluster/oldest (tier controlplane)")
}

func build(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	tier, kubernetes := tierFlag(flags), kubernetesFlag(flags)
	if err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	dir, err := cluster.Build(ctx, *tier, *kubernetes, os.Stderr)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, dir)
	return err
}

func up(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	var selected clusterFlags
	selected.register(flags)
	tier, kubernetes := tierFlag(flags), kubernetesFlag(flags)
	install := flags.Bool("install-packages", false, "install missing Debian packages with apt-get (tier node)")
	timeout := flags.Duration("timeout", 3*time.Minute, "timeout of the start, without the build")
	if err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	dir, err := selected.resolve()
	if err != nil {
		return err
	}
	result, err := cluster.Up(ctx, cluster.Options{
		Tier: *tier, Kubernetes: *kubernetes, Name: selected.name, Dir: dir, InstallPackages: *install, Timeout: *timeout, Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	return printJSON(out, result)
}

func status(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	var selected clusterFlags
	selected.register(flags)
	if err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	dir, err := selected.resolve()
	if err != nil {
		return err
	}
	report, err := cluster.Inspect(ctx, dir)
	if err != nil {
		return err
	}
	if err := printJSON(out, report); err != nil {
		return err
	}
	return report.Err()
}

func kubeconfig(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	var selected clusterFlags
	selected.register(flags)
	account := flags.String("serviceaccount", "", "the ServiceAccount as `NAMESPACE/NAME`")
	file := flags.String("o", "", "write to this `file` instead of standard output")
	lifetime := flags.Duration("duration", 24*time.Hour, "validity of the token; at least 10m")
	if err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	if *account == "" {
		return usageError{errors.New("kubeconfig: --serviceaccount NAMESPACE/NAME is required")}
	}
	dir, err := selected.resolve()
	if err != nil {
		return err
	}
	data, err := cluster.ServiceAccountKubeconfig(ctx, dir, *account, *lifetime)
	if err != nil {
		return err
	}
	if *file != "" {
		return os.WriteFile(*file, data, 0o600)
	}
	_, err = out.Write(data)
	return err
}

func load(ctx context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	var selected clusterFlags
	selected.register(flags)
	if err := parse(flags, args, 1, -1); err != nil {
		return err
	}
	dir, err := selected.resolve()
	if err != nil {
		return err
	}
	return cluster.Load(ctx, dir, flags.Args(), os.Stderr)
}

func push(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error {
	var selected clusterFlags
	selected.register(flags)
	if err := parse(flags, args, 2, 2); err != nil {
		return err
	}
	dir, err := selected.resolve()
	if err != nil {
		return err
	}
	reference, err := cluster.Push(ctx, dir, flags.Arg(0), flags.Arg(1))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, reference)
	return err
}

func down(ctx context.Context, flags *flag.FlagSet, args []string, _ io.Writer) error {
	var selected clusterFlags
	selected.register(flags)
	if err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	dir, err := selected.resolve()
	if err != nil {
		return err
	}
	existed, err := cluster.Down(ctx, dir, os.Stderr)
	if err == nil && !existed {
		_, err = fmt.Fprintf(os.Stderr, "no cluster in %s\n", dir)
	}
	return err
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

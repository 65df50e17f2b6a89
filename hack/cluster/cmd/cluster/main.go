// SPDX-License-Identifier: Apache-2.0

// Command cluster builds, starts and stops a real single-node Kubernetes cluster for tests and demonstrations. It
// writes results to standard output, and progress and errors to standard error. The exit status is 0 on success, 2 for
// a usage error and 1 otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/node"
)

const usage = `usage: cluster COMMAND [FLAGS]

  build       compile the programs of a tier into the cache
  up          start a cluster unless it already runs, and print its details as JSON
  status      print the state of a cluster's processes; fails if the cluster is not usable
  kubeconfig  print a kubeconfig of a ServiceAccount
  load        import image archives into the node
  push        upload an image archive to the cluster's registry, and print its reference
  down        stop a cluster and remove its files except the logs

cluster COMMAND -h lists the flags of a command.
`

type command func(ctx context.Context, flags *flag.FlagSet, args []string, out io.Writer) error

var commands = map[string]command{
	"build":      build,
	"up":         up,
	"status":     status,
	"kubeconfig": kubeconfig,
	"load":       load,
	"push":       push,
	"down":       down,
}

type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	var usageErr usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usageErr):
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return usageError{errors.New("no command\n" + usage)} //nolint:staticcheck // the usage has lines of its own
	}
	if isHelp(args[0]) {
		_, err := fmt.Fprint(out, usage)
		return err
	}
	if internal, ok := node.Commands[args[0]]; ok {
		return internal(ctx, args[1:])
	}
	verb, ok := commands[args[0]]
	if !ok {
		return usageError{fmt.Errorf("unknown command %q\n%s", args[0], usage)}
	}
	flags := flag.NewFlagSet("cluster "+args[0], flag.ContinueOnError)
	return verb(ctx, flags, args[1:], out)
}

func isHelp(arg string) bool { return arg == "help" || arg == "-h" || arg == "--help" }

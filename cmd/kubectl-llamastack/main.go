// SPDX-License-Identifier: Apache-2.0

// Command kubectl-llamastack is the kubectl plugin "kubectl llamastack".
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

// gcPercent lets the heap grow to some 20 MB first: otherwise a third of the 50 ms of a run is garbage collection.
const gcPercent = 400

func main() {
	debug.SetGCPercent(gcPercent)
	// Without a logger, a slow command would print a stack trace.
	log.SetLogger(logr.Discard())
	streams := cli.Safe(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	logTo(streams.Err)
	os.Exit(plugin.Run(context.Background(), os.Args[1:], streams))
}

// logTo makes Kubernetes' libraries log to a stream, which escapes control characters of servers' messages.
func logTo(errs io.Writer) {
	klog.SetLogger(funcr.New(func(_, text string) { _, _ = fmt.Fprintln(errs, text) }, funcr.Options{}))
}

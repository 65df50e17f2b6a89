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

// gcPercent lets the heap grow to some 20 MB before it is collected: a process that lives for 50 ms would spend a third
// of them on collecting what it is about to leave behind.
const gcPercent = 400

func main() {
	debug.SetGCPercent(gcPercent)
	// Without a logger, a command that takes long would print a stack trace.
	log.SetLogger(logr.Discard())
	streams := cli.Safe(cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	logTo(streams.Err)
	os.Exit(plugin.Run(context.Background(), os.Args[1:], streams))
}

// logTo lets Kubernetes' libraries report to a stream. They would write what a server says to standard error as it is.
func logTo(errs io.Writer) {
	klog.SetLogger(funcr.New(func(_, text string) { _, _ = fmt.Fprintln(errs, text) }, funcr.Options{}))
}

// SPDX-License-Identifier: Apache-2.0

// Command model-server-double serves a modelserverdouble.Double until SIGTERM or SIGINT.
//
// The key comes from the file of --key-file or the environment variable API_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
)

const (
	headerTimeout   = 10 * time.Second
	shutdownTimeout = 5 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "model-server-double:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("model-server-double", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8000", "address to listen on")
	models := flags.String("models", "", "ids of the models to serve, separated by commas")
	open := flags.Bool("open", false, "require no key")
	keyFile := flags.String("key-file", "", "file that holds the bearer key; without it the key is $API_KEY")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config := modelserverdouble.Config{Models: strings.Split(*models, ","), Open: *open}
	if !config.Open {
		key, err := readKey(*keyFile)
		if err != nil {
			return err
		}
		config.Key = key
	}
	double, err := modelserverdouble.New(config)
	if err != nil {
		return err
	}
	return serve(ctx, &http.Server{Addr: *listen, Handler: double, ReadHeaderTimeout: headerTimeout})
}

func readKey(file string) (string, error) {
	if file == "" {
		return os.Getenv("API_KEY"), nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// serve listens until the context ends, and then waits up to shutdownTimeout for pending requests.
func serve(ctx context.Context, server *http.Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return fmt.Errorf("listen on %s: %w", server.Addr, err)
	case <-ctx.Done():
	}
	shutdown, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(shutdown); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package node

import (
	"context"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// Start fails: only Linux has nodes.
func Start(context.Context, *state.State, string, io.Writer) error { return host.ErrNotLinux }

// Clean does nothing, because there are no nodes.
func Clean(*state.State) error { return nil }

// Load fails: only Linux has nodes.
func Load(context.Context, int, string, io.Writer) error { return host.ErrNotLinux }

// Commands is empty, because there are no nodes.
var Commands = map[string]func(context.Context, []string) error{}

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import (
	"context"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
)

func startNodeTier(context.Context, *state, string, io.Writer) error { return host.ErrNotLinux }

func cleanHost(*state) error { return nil }

// Load imports image archives into a node, which only Linux has.
func Load(context.Context, string, []string, io.Writer) error { return host.ErrNotLinux }

// InternalCommands is empty: only a node runs parts of itself as commands.
var InternalCommands = map[string]func(context.Context, []string) error{}

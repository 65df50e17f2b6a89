// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

import (
	"context"
	"errors"
	"io"
)

var errNotLinux = errors.New("the node tier runs on Linux only: use the tier controlplane here, or a Linux machine")

func preflight(context.Context, bool, io.Writer) error { return errNotLinux }

func startNodeTier(context.Context, *state, string, io.Writer) error { return errNotLinux }

func cleanHost(*state) error { return nil }

// Load imports image archives into a node, which only Linux has.
func Load(context.Context, string, []string, io.Writer) error { return errNotLinux }

// InternalCommands is empty: only a node runs parts of itself as commands.
var InternalCommands = map[string]func(context.Context, []string) error{}

// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package host

import (
	"context"
	"errors"
	"io"
)

// ErrNotLinux means that the node tier cannot run here.
var ErrNotLinux = errors.New("the node tier runs on Linux only: use the tier controlplane here, or a Linux machine")

// Preflight fails: the node tier runs on Linux only.
func Preflight(context.Context, bool, io.Writer) error { return ErrNotLinux }

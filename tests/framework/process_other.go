// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package framework

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// IsolatedMain exits, because only Linux has network namespaces.
func IsolatedMain(*testing.M, string, func(*Cluster) error, func() error) {
	fmt.Fprintln(os.Stderr, "these tests need Linux: they make a network namespace")
	os.Exit(1)
}

func endsWithParent() *syscall.SysProcAttr { return nil }

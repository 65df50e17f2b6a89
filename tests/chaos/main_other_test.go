// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package chaos

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(*testing.M) {
	fmt.Fprintln(os.Stderr, "these tests need Linux: they make a network namespace")
	os.Exit(1)
}

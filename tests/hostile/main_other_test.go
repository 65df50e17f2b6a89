// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package hostile

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(*testing.M) {
	fmt.Fprintln(os.Stderr, "these tests need Linux: they limit the operator's memory by a control group")
	os.Exit(1)
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

// Proves: NFR-003.
func TestLibraryLogsAreEscaped(t *testing.T) {
	var errs bytes.Buffer
	logTo(cli.Safe(cli.Streams{Err: &errs}).Err)
	t.Cleanup(klog.ClearLogger)
	const evil = "evil\x1b[2J\n::error::x"
	klog.Warning(evil)
	klog.InfoS(evil, evil, evil)
	runtime.HandleErrorWithContext(t.Context(), errors.New(evil), evil)
	if text := errs.String(); strings.Contains(text, "\x1b") || strings.Contains("\n"+text, "\n::") || strings.Count(text, `evil\x1b[2J`) < 4 {
		t.Errorf("%q", text)
	}
}

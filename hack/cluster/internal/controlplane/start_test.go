// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
)

// A start is repeated where the log of the program says that the reason passes, and only there.
func TestStartAgain(t *testing.T) {
	for log, want := range map[string]bool{
		"listen tcp 127.0.0.1:4001: bind: address already in use":                                                                                 true,
		`F1122 16:41:43.361404 3400 hooks.go:203] PostStartHook "start-service-ip-repair-controllers" failed: unable to perform initial IP check`: true,
		`I1122 16:41:43.361404 3400 hooks.go:203] PostStartHook "start-service-ip-repair-controllers" finished`:                                   false,
		"unknown flag": false,
	} {
		file := filepath.Join(t.TempDir(), "kube-apiserver.log")
		if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Again(fmt.Errorf("starting: %w", &process.EndedError{Log: file})); (got != "") != want {
			t.Errorf("%s: %q", log, got)
		}
	}
	if got := Again(errors.New("the context ended")); got != "" {
		t.Errorf("another error: %q", got)
	}
}

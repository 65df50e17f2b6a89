// SPDX-License-Identifier: Apache-2.0

package problem_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Proves: R63, L-28 (the text of a panic is reported only for runtime errors of Go).
func TestRecordShowsNoValue(t *testing.T) {
	const canary = "sk-canary"
	for want, value := range map[string]any{"string": canary, "[]string": []string{canary}, "index out of range": index(canary)} {
		what, wrong := problem.RecordPanic(value)
		if !strings.Contains(what, want) || strings.Contains(what+wrong.String(), canary) {
			t.Errorf("%s: %s", what, wrong)
		}
	}
}

func index(s string) (value any) {
	defer func() { value = recover() }()
	return s[len(s)]
}

// Proves: R63, L-28 (the log and the error do not contain the panic's value).
func TestCatchReturnsPanicAsError(t *testing.T) {
	const canary = "sk-canary"
	var logged strings.Builder
	log := funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{})
	question := func(value any) (err error) {
		defer problem.CatchPanic(log, "it panicked", &err)
		if value != nil {
			panic(value)
		}
		return nil
	}
	if err := question(nil); err != nil || logged.Len() > 0 {
		t.Errorf("%v, %s without a panic", err, logged.String())
	}
	if err := question(canary); !errors.Is(err, problem.ErrInternal) {
		t.Errorf("%v", err)
	}
	if text := logged.String(); strings.Contains(text, canary) || !strings.Contains(text, "it panicked") || !strings.Contains(text, "TestCatchReturnsPanicAsError") {
		t.Error(text)
	}
}

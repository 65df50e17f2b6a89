// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

var (
	errTimeout = errors.New("timeout")
	errRefused = errors.New("refused")
)

func list() fault.List {
	return fault.List{
		{Class: fault.Wrong, Condition: "A", Reason: "WrongA", Message: "a is wrong"},
		{Class: fault.FailedToAsk, Condition: "B", Reason: "Failed", Message: "b timed out", Err: errTimeout},
		{Class: fault.Missing, Condition: "A", Reason: "MissingA", Message: "a is missing"},
		{Class: fault.FailedToAsk, Condition: "B", Reason: "Refused", Message: "b refused", Err: errRefused},
		{Class: fault.Wrong, Condition: "A", Reason: "WrongA", Message: "a is wrong"},
	}
}

// Proves: FR-075 (no message is lost, none stands twice).
func TestListFor(t *testing.T) {
	for condition, want := range map[string]struct{ reason, message string }{
		"A": {"WrongA", "a is wrong; a is missing"},
		"B": {"Failed", "b timed out; b refused"},
		"C": {"", ""},
	} {
		of := list().For(condition)
		if of.Reason() != want.reason || of.Message() != want.message {
			t.Errorf("%s: %s: %s, want %s: %s", condition, of.Reason(), of.Message(), want.reason, want.message)
		}
	}
	if got := list().For("C"); got != nil {
		t.Errorf("faults of no condition: %v", got)
	}
}

func TestListHas(t *testing.T) {
	for _, class := range []fault.Class{fault.Wrong, fault.Missing, fault.FailedToAsk} {
		if !list().Has(class) {
			t.Errorf("class %d is not found", class)
		}
		if (fault.List{}).Has(class) {
			t.Errorf("class %d is found in nothing", class)
		}
		only := fault.List{{Class: class}}
		for _, other := range []fault.Class{fault.Wrong, fault.Missing, fault.FailedToAsk} {
			if got := only.Has(other); got != (class == other) {
				t.Errorf("class %d in a list of %d: %v", other, class, got)
			}
		}
	}
}

// Only a question that failed is asked again: back-off for what is wrong or missing would poll for nothing (L-03).
func TestListRetry(t *testing.T) {
	err := list().Retry()
	if !errors.Is(err, errTimeout) || !errors.Is(err, errRefused) {
		t.Errorf("Retry = %v, want both causes", err)
	}
	if want := "b timed out\nb refused"; err.Error() != want {
		t.Errorf("Retry = %q, want %q", err, want)
	}
	if err := (fault.List{{Class: fault.Wrong, Err: errTimeout}, {Class: fault.Missing, Err: errRefused}}).Retry(); err != nil {
		t.Errorf("wrong and missing are retried: %v", err)
	}
	if err := fault.List(nil).Retry(); err != nil {
		t.Errorf("nothing is retried: %v", err)
	}
}

// A fault is an error whose text is the message alone: the cause is for errors.Is.
func TestFaultIsAnError(t *testing.T) {
	var err error = list()[1]
	var f *fault.Fault
	if err.Error() != "b timed out" || !errors.Is(err, errTimeout) || !errors.As(err, &f) {
		t.Errorf("%v", err)
	}
}

// Proves: FR-075 (a program can find the field that a message is about).
func TestPath(t *testing.T) {
	for message, want := range map[string]string{
		"spec.providers.inference[0].id: Required value":              "spec.providers.inference[0].id",
		"spec.providers.inference.secretRefs[api_key]: unknown":       "spec.providers.inference.secretRefs[api_key]",
		"metadata.name: Invalid value":                                "metadata.name",
		"Secret not found: x (referenced by spec.providers.a.apiKey)": "",
		"operator settings: spec.x":                                   "",
		"spec":                                                        "",
	} {
		if got := (&fault.Fault{Message: message}).Path(); got != want {
			t.Errorf("%s: path %q, want %q", message, got, want)
		}
	}
}

// Proves: R63 (many and long problems make a short message, which says how many are left out).
func TestMessageOfManyFaultsIsShort(t *testing.T) {
	var many fault.List
	for i := range 500 {
		many = append(many, &fault.Fault{Message: fmt.Sprintf("spec.a[%d]: %s", i, strings.Repeat("ü", 60))})
	}
	got := append(many, many...).Message()
	if strings.Count(got, "spec.a") != bounds.Problems || !strings.HasSuffix(got, "; and 450 more") || !utf8.ValidString(got) {
		t.Errorf("%d bytes, ends with %s", len(got), got[max(0, len(got)-40):])
	}
	if got := (fault.List{{Message: strings.Repeat("x", 5_000)}}).Message(); len(got) != bounds.MessageBytes {
		t.Errorf("one message of %d bytes", len(got))
	}
}

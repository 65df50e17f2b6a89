// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

var (
	errTimeout = errors.New("timeout")
	errRefused = errors.New("refused")
)

// Proves: FR-075, R74 (the text has the form of field.Error).
func TestStringHasKubernetesForm(t *testing.T) {
	for want, p := range map[string]Problem{
		`spec.disabled[0]: Unsupported value: "inferense": did you mean "inference"?`: {
			Path: "spec.disabled[0]", Type: field.ErrorTypeNotSupported, Value: "inferense", Fix: `did you mean "inference"?`,
		},
		"spec.a: Required value: b needs it: for example c": {
			Path: "spec.a", Type: field.ErrorTypeRequired, Value: "not shown", Detail: "b needs it", Fix: "for example c",
		},
		"spec.a: Invalid value: may be a secret":   {Path: "spec.a", Type: field.ErrorTypeInvalid, Detail: "may be a secret"},
		"spec.a: Invalid value: 7: too small":      {Path: "spec.a", Type: field.ErrorTypeInvalid, Value: 7, Detail: "too small"},
		"spec.a: has no effect: remove it":         {Path: "spec.a", Detail: "has no effect", Fix: "remove it"},
		"spec.a: Invalid value: want a text":       {Path: "spec.a", Type: field.ErrorTypeInvalid, Value: map[string]any{}, Detail: "want a text"},
		`spec.a: Invalid value: "tcp"`:             {Path: "spec.a", Type: field.ErrorTypeInvalid, Value: corev1.URIScheme("tcp")},
		`spec.a: Duplicate value: "x"`:             {Path: "spec.a", Type: field.ErrorTypeDuplicate, Value: "x"},
		"config.yaml: apis[0]: Not found: fix it":  {Path: "config.yaml: apis[0]", Type: field.ErrorTypeNotFound, Fix: "fix it"},
		"Invalid value: a value without any place": {Type: field.ErrorTypeInvalid, Detail: "a value without any place"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Proves: R63 (a message has at most 1 KiB).
func TestStringIsBounded(t *testing.T) {
	long := strings.Repeat("ü", 5_000)
	for _, p := range []Problem{
		{Path: "spec.a", Type: field.ErrorTypeInvalid, Value: long, Detail: "wrong", Fix: "fix it"},
		{Path: long, Detail: long, Fix: long},
	} {
		for _, text := range []string{p.String(), p.Body(), p.FieldError().Detail} {
			if len(text) > limits.MessageBytes || !utf8.ValidString(text) {
				t.Errorf("%d bytes: %s", len(text), text)
			}
		}
	}
	p := Problem{Path: "spec.a", Type: field.ErrorTypeInvalid, Value: long, Detail: "wrong", Fix: "fix it"}
	if text := p.String(); !strings.HasSuffix(text, "wrong: fix it") {
		t.Errorf("a long value hides the fix: %s", text)
	}
}

// Admission responses and conditions have the same text.
//
// Proves: R74.
func TestFieldErrorHasTheSameText(t *testing.T) {
	for _, row := range Rows() {
		p := New(row.Example)
		if p.Type == "" {
			continue
		}
		if got, want := p.FieldError().Error(), p.String(); got != want {
			t.Errorf("%s: %s\nwant %s", row.Reason, got, want)
		}
	}
	warning := Problem{Path: "spec.a", Detail: "has no effect"}
	if got, want := warning.FieldError().Error(), "spec.a: Invalid value: has no effect"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNewKeepsSetFields(t *testing.T) {
	if got := New(Problem{Reason: SecretNotFound, Path: "spec.a"}); got.Class != WaitingForDependency || got.Severity != Error || got.Condition != "SecretsResolved" {
		t.Errorf("%+v", got)
	}
	set := Problem{Reason: LookupFailed, Class: Terminal, Severity: Warning, Condition: "Available"}
	if got := New(set); got.Class != set.Class || got.Severity != set.Severity || got.Condition != set.Condition {
		t.Errorf("%+v", got)
	}
}

// Proves: R63.
func TestNewAndAddFillInThePath(t *testing.T) {
	pathless := Problem{Reason: InvalidField, Detail: "is odd"}
	var c Collector
	c.Add(pathless)
	for _, got := range []Problem{*New(pathless), c.List()[0]} {
		if want := "spec: is odd"; got.Path != "spec" || got.String() != want {
			t.Errorf("%q with the path %q, want %q", got.String(), got.Path, want)
		}
	}
}

func list() List {
	return List{
		{Class: Terminal, Condition: "A", Reason: "WrongA", Detail: "a is wrong"},
		{Class: Transient, Condition: "B", Reason: "Failed", Detail: "b timed out", Err: errTimeout},
		{Class: WaitingForDependency, Condition: "A", Reason: "MissingA", Detail: "a is missing"},
		{Class: Transient, Condition: "B", Reason: "Refused", Detail: "b refused", Err: errRefused},
		{Class: Terminal, Condition: "A", Reason: "WrongA", Detail: "a is wrong"},
		{Class: Terminal, Severity: Warning, Condition: "C", Reason: "Remark", Detail: "c is odd"},
	}
}

// Proves: FR-075 (messages are complete and unique).
func TestForReturnsTheErrorsOfACondition(t *testing.T) {
	for condition, want := range map[string]struct{ reason, message string }{
		"A": {"WrongA", "a is wrong; a is missing"},
		"B": {"Failed", "b timed out; b refused"},
		"C": {"", ""},
	} {
		of := list().For(condition)
		if string(of.Reason()) != want.reason || of.Message() != want.message {
			t.Errorf("%s: %s: %s, want %s: %s", condition, of.Reason(), of.Message(), want.reason, want.message)
		}
	}
	if got := list().Conditions(); !slices.Equal(got, []string{"A", "B"}) {
		t.Errorf("conditions %v", got)
	}
	if got := list().Warnings().Message(); got != "c is odd" || list().Errors().Warnings() != nil {
		t.Errorf("warnings %q", got)
	}
}

func TestHasDistinguishesClasses(t *testing.T) {
	classes := []Class{Terminal, WaitingForDependency, Transient}
	for _, class := range classes {
		only := List{{Class: class}}
		for _, other := range classes {
			if got := only.Has(other); got != (class == other) || (len(only.Of(other)) > 0) != got {
				t.Errorf("%s in a list of %s: %v", other, class, got)
			}
		}
		if warning := (List{{Class: class, Severity: Warning}}); warning.Has(class) || warning.HasErrors() || warning.Of(class) != nil {
			t.Errorf("a warning of class %s is an error", class)
		}
	}
}

// Only transient errors are retried, because back-off for others would be polling.
//
// Proves: L-03.
func TestRetryReturnsTransientErrors(t *testing.T) {
	err := list().Retry()
	if !errors.Is(err, errTimeout) || !errors.Is(err, errRefused) {
		t.Errorf("Retry = %v, want both causes", err)
	}
	if want := "b timed out\nb refused"; err.Error() != want {
		t.Errorf("Retry = %q, want %q", err, want)
	}
	if err := (List{{Class: Terminal, Err: errTimeout}, {Class: WaitingForDependency, Err: errRefused}}).Retry(); err != nil {
		t.Errorf("%v is retried", err)
	}
}

// Proves: R63.
func TestMessageReportsNumberOfOmittedProblems(t *testing.T) {
	var many List
	for i := range 500 {
		many = append(many, Problem{Path: fmt.Sprintf("spec.a[%d]", i), Detail: strings.Repeat("ü", 60)})
	}
	got := append(many, many...).Message()
	if strings.Count(got, "spec.a") != limits.Problems || !strings.HasSuffix(got, "; and 450 more") {
		t.Errorf("%d bytes, ends with %s", len(got), got[max(0, len(got)-40):])
	}
}

// Proves: R63 (at most 50 problems of each severity are kept; the others are counted, also through nested collectors).
func TestCollectorIsBounded(t *testing.T) {
	var inner, outer Collector
	for range 70 {
		inner.Add(Problem{Reason: NoEffect, Severity: Warning, Path: "spec.w"})
		inner.Add(Problem{Reason: InvalidField, Path: "spec.e"})
	}
	if !inner.Full(Error) || inner.Full("") {
		t.Error("Full is wrong")
	}
	outer.Add(Problem{Reason: NoEffect, Severity: Warning, Path: "spec.first"})
	outer.AddAll(inner.List())
	got := outer.List()
	if errs, warnings := got.Errors(), got.Warnings(); len(errs) != limits.Problems+1 || len(warnings) != limits.Problems+1 {
		t.Fatalf("%d errors, %d warnings", len(errs), len(warnings))
	}
	if got[0].Severity != Error || got[limits.Problems+1].Path != "spec.first" {
		t.Errorf("order: %v", got)
	}
	want := []string{
		"spec: Too many: 21: more problems are left out here: fix the others first",
		"spec: Too many: 21: more problems are left out here: fix the others first",
	}
	if diff := cmp.Diff(want, []string{got[limits.Problems].String(), got[len(got)-1].String()}); diff != "" {
		t.Error(diff)
	}
}

func TestCollectorOfNothing(t *testing.T) {
	var c Collector
	if c.HasErrors() || c.Full(Error) || c.List() != nil {
		t.Errorf("%v", c.List())
	}
	c.Add(Problem{Reason: NoEffect, Severity: Warning, Path: "spec.a"})
	if c.HasErrors() {
		t.Error("a warning is an error")
	}
	c.Add(Problem{Reason: InvalidField, Path: "spec.a"})
	if !c.HasErrors() {
		t.Error("an error is none")
	}
}

func TestCoversFieldsAndTheirParts(t *testing.T) {
	list := List{
		{Reason: InvalidField, Path: "spec.a.b[1]"}, {Reason: InvalidField, Path: "spec.w", Severity: Warning}, {Reason: InvalidField, Path: "spec"},
	}
	for path, want := range map[string]bool{
		"spec.a.b[1]": true, "spec.a.b[1].c": true, "spec.a.b[1][2]": true, "spec.a.b": true, "spec.a": true, "spec": true,
		"spec.a.b[10]": false, "spec.a.bc": false, "spec.a.b[2]": false, "spec.w": false, "spec.x": false, "spe": false,
	} {
		if got := list.Covers(path); got != want {
			t.Errorf("Covers(%q) = %v", path, got)
		}
	}
}

// Errors without a watch are polled. Warnings are not.
func TestPolledSelectsUnwatchedProblems(t *testing.T) {
	polled := 0
	for _, row := range Rows() {
		if got := (List{{Reason: row.Reason, Severity: Error}}).Polled(); got != row.Polled {
			t.Errorf("%s: %v", row.Reason, got)
		}
		if (List{{Reason: row.Reason, Severity: Warning}}).Polled() {
			t.Errorf("a warning of reason %s is polled", row.Reason)
		}
		if row.Polled {
			polled++
		}
	}
	if polled == 0 {
		t.Error("no reason is polled")
	}
}

func TestAddFoundAddsProblemIfPresent(t *testing.T) {
	var c Collector
	c.AddFound(nil)
	c.AddFound(&Problem{Reason: InvalidField, Path: "spec.a"})
	if list := c.List(); len(list) != 1 || list[0].Path != "spec.a" {
		t.Errorf("%v", list)
	}
}

func TestBodyKeepsSentences(t *testing.T) {
	for want, p := range map[string]Problem{
		"Do this.":         {Fix: "Do this."},
		"One. Two. Three.": {Detail: "One. Two.", Fix: "Three."},
		"one: two":         {Detail: "one", Fix: "two"},
		"":                 {},
	} {
		if got := p.Body(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

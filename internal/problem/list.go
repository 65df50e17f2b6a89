// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// List is a set of problems, in the order in which they were found.
type List []Problem

// Errors returns the problems that prevent something.
func (l List) Errors() List { return l.where(func(p *Problem) bool { return p.Severity != Warning }) }

// Warnings returns the problems that prevent nothing.
func (l List) Warnings() List { return l.where(func(p *Problem) bool { return p.Severity == Warning }) }

// Of returns the errors of a class.
func (l List) Of(class Class) List {
	return l.where(func(p *Problem) bool { return p.Severity != Warning && p.Class == class })
}

// For returns the errors that a condition reports.
func (l List) For(condition string) List {
	return l.where(func(p *Problem) bool { return p.Severity != Warning && p.Condition == condition })
}

func (l List) where(wanted func(*Problem) bool) List {
	var some List
	for i := range l {
		if wanted(&l[i]) {
			some = append(some, l[i])
		}
	}
	return some
}

// HasErrors reports whether an error is in the list.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity != Warning })
}

// Has reports whether an error of the class is in the list.
func (l List) Has(class Class) bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity != Warning && p.Class == class })
}

// Polled reports whether the operator does not watch what fixes an error, and looks again from time to time.
func (l List) Polled() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity != Warning && rowOf(p.Reason).Polled })
}

// Covers reports whether an error of the list is about a path, or about a field that it is part of, or that is part of
// it. The whole spec does not count.
func (l List) Covers(path string) bool {
	return slices.ContainsFunc(l, func(p Problem) bool {
		return p.Severity != Warning && p.Path != "spec" && (within(p.Path, path) || within(path, p.Path))
	})
}

// within reports whether a path is another one or leads to a part of it.
func within(path, whole string) bool {
	rest, found := strings.CutPrefix(path, whole)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Reason returns the reason of the first problem; empty for an empty list.
func (l List) Reason() Reason {
	if len(l) == 0 {
		return ""
	}
	return l[0].Reason
}

// Conditions returns the conditions that report the errors, each once, in their order.
func (l List) Conditions() []string {
	var names []string
	for _, p := range l.Errors() {
		if !slices.Contains(names, p.Condition) {
			names = append(names, p.Condition)
		}
	}
	return names
}

// Texts returns the texts, each once, in their order: so many, and how many more there are.
func (l List) Texts() []string {
	var texts []string
	seen := map[string]bool{}
	for i := range l {
		text := l[i].String()
		if !seen[text] && len(seen) < limits.Problems {
			texts = append(texts, text)
		}
		seen[text] = true
	}
	if more := len(seen) - limits.Problems; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

// Message joins the texts with "; ".
func (l List) Message() string { return strings.Join(l.Texts(), "; ") }

// Retry returns all transient errors, nil where there is none: the error that makes the workqueue retry with back-off.
func (l List) Retry() error {
	var errs []error
	for _, p := range l.Of(Transient) {
		errs = append(errs, &transientError{p})
	}
	return errors.Join(errs...)
}

// transientError is a transient problem as an error. Its text is that of the problem; the cause is for errors.Is.
type transientError struct{ problem Problem }

func (e *transientError) Error() string { return e.problem.String() }
func (e *transientError) Unwrap() error { return e.problem.Err }

// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// List is a list of problems in the order of detection.
type List []Problem

// Errors returns the problems that are not warnings.
func (l List) Errors() List { return l.where(func(p *Problem) bool { return p.Severity != Warning }) }

// Warnings returns the warnings.
func (l List) Warnings() List { return l.where(func(p *Problem) bool { return p.Severity == Warning }) }

// Of returns the errors of a class.
func (l List) Of(class Class) List {
	return l.where(func(p *Problem) bool { return p.Severity != Warning && p.Class == class })
}

// For returns the errors that a condition reports.
func (l List) For(condition string) List {
	return l.where(func(p *Problem) bool { return p.Severity != Warning && p.Condition == condition })
}

func (l List) where(matches func(*Problem) bool) List {
	var matching List
	for i := range l {
		if matches(&l[i]) {
			matching = append(matching, l[i])
		}
	}
	return matching
}

// HasErrors reports whether the list has an error.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity != Warning })
}

// Has reports whether the list has an error of the class.
func (l List) Has(class Class) bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity != Warning && p.Class == class })
}

// Polled reports whether the operator must poll for the fix of an error, because it does not watch it.
func (l List) Polled() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity != Warning && rowOf(p.Reason).Polled })
}

// Covers reports whether an error is about the path, a parent or a child of it, but not about the whole spec.
func (l List) Covers(path string) bool {
	return slices.ContainsFunc(l, func(p Problem) bool {
		return p.Severity != Warning && p.Path != "spec" && (within(p.Path, path) || within(path, p.Path))
	})
}

// within reports whether path equals whole or is below it.
func within(path, parent string) bool {
	rest, found := strings.CutPrefix(path, parent)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Reason returns the reason of the first problem, or "" for an empty list.
func (l List) Reason() Reason {
	if len(l) == 0 {
		return ""
	}
	return l[0].Reason
}

// Conditions returns the conditions that report the errors, without duplicates and in order.
func (l List) Conditions() []string {
	var names []string
	for _, p := range l.Errors() {
		if !slices.Contains(names, p.Condition) {
			names = append(names, p.Condition)
		}
	}
	return names
}

// Texts returns the texts without duplicates: at most limits.Problems, then how many more there are.
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

// Retry returns the transient errors joined, for the workqueue to retry with back-off; nil if there are none.
func (l List) Retry() error {
	var errs []error
	for _, p := range l.Of(Transient) {
		errs = append(errs, &transientError{p})
	}
	return errors.Join(errs...)
}

// transientError makes a transient problem an error. It unwraps to the cause.
type transientError struct{ problem Problem }

func (e *transientError) Error() string { return e.problem.String() }
func (e *transientError) Unwrap() error { return e.problem.Err }

// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// Class is what has to happen before the operator can go on.
type Class int

// The classes.
const (
	// Wrong: only an edit helps.
	Wrong Class = iota
	// Missing: a referenced object does not exist yet; it is watched.
	Missing
	// FailedToAsk: a question could not be answered; it is asked again.
	FailedToAsk
)

// Fault is one thing that keeps a resource from being brought into force.
type Fault struct {
	// Class decides how the operator goes on.
	Class Class
	// Condition is the type of the condition that becomes False.
	Condition string
	// Reason is the condition's reason.
	Reason string
	// Message is for the user: the field, what is wrong, how to mend it.
	Message string
	// Err is the cause, where there is one; it is for the log and never holds more than Message may.
	Err error
}

// Error makes a Fault an error.
func (f *Fault) Error() string { return f.Message }

// fieldPath is a path at the beginning of a message.
var fieldPath = regexp.MustCompile(`^(spec|metadata)(\.[A-Za-z0-9_-]+|\[[^\]]*\])+`)

// Path returns the field of the resource that the message begins with; empty where it begins with none.
func (f *Fault) Path() string { return fieldPath.FindString(f.Message) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// List is a set of faults.
type List []*Fault

// Has tells whether a fault of the class is in the list.
func (l List) Has(class Class) bool {
	return slices.ContainsFunc(l, func(f *Fault) bool { return f.Class == class })
}

// Of returns the faults of the class.
func (l List) Of(class Class) List {
	var out List
	for _, f := range l {
		if f.Class == class {
			out = append(out, f)
		}
	}
	return out
}

// For returns the faults that make the condition False.
func (l List) For(condition string) List {
	var out List
	for _, f := range l {
		if f.Condition == condition {
			out = append(out, f)
		}
	}
	return out
}

// Reason returns the reason of the first fault, and the empty string for an empty list.
func (l List) Reason() string {
	if len(l) == 0 {
		return ""
	}
	return l[0].Reason
}

// Conditions returns the conditions that the faults make False, each once, in their order.
func (l List) Conditions() []string {
	var names []string
	for _, f := range l {
		if !slices.Contains(names, f.Condition) {
			names = append(names, f.Condition)
		}
	}
	return names
}

// Message joins the messages, each once, in their order: so many, and how many more there are.
func (l List) Message() string {
	var parts []string
	seen := map[string]bool{}
	for _, f := range l {
		if !seen[f.Message] && len(seen) < bounds.Problems {
			parts = append(parts, bounds.Message(f.Message))
		}
		seen[f.Message] = true
	}
	if more := len(seen) - bounds.Problems; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// Retry returns the joined causes of all questions that failed, nil where none did: the error that makes the
// workqueue ask again with back-off.
func (l List) Retry() error {
	var errs []error
	for _, f := range l {
		if f.Class == FailedToAsk {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// Code classifies a finding for machines.
type Code string

// The codes.
const (
	// InvalidSpec: a field of the resource has the wrong form; only an edit helps.
	InvalidSpec Code = "InvalidSpec"
	// Unsupported: the resource uses something that this operator does not support yet.
	Unsupported Code = "Unsupported"
	// UnsupportedVersion: the base has a schema version that this operator does not know.
	UnsupportedVersion Code = "UnsupportedVersion"
	// NotAvailable: the release line of the server does not have what the resource asks for.
	NotAvailable Code = "NotAvailable"
	// Disabled: the resource configures what it disables, or what cannot work without it.
	Disabled Code = "Disabled"
	// UnknownProvider: a model, shield or tool names a provider that neither the resource nor the base has.
	UnknownProvider Code = "UnknownProvider"
	// UnknownProviderType: the release line does not know the provider type. A warning, because an image can bring its own; an error where
	// the name looks misspelled or stands under the wrong API.
	UnknownProviderType Code = "UnknownProviderType"
	// DeprecatedType: the release line has the provider type still, and says that it will go. A warning.
	DeprecatedType Code = "DeprecatedType"
	// LiteralSecret: a secret stands in the resource itself. A warning.
	LiteralSecret Code = "LiteralSecret"
	// UnknownField: the provider type has no such config field on this release line.
	UnknownField Code = "UnknownField"
	// NoProvider: a model, shield or tool names no provider and there is no obvious one, or one that only the environment turns on.
	NoProvider Code = "NoProvider"
	// NoKey: tools are asked for whose provider has no key. A warning.
	NoKey Code = "NoKey"
	// Conflict: two places of the resource set the same thing.
	Conflict Code = "Conflict"
	// InvalidEndpoint: an endpoint cannot be used.
	InvalidEndpoint Code = "InvalidEndpoint"
	// NoModel: a shield names no model that it could ask, and there is no obvious one.
	NoModel Code = "NoModel"
	// BrokenReference: the configuration contradicts itself: it names a provider, shield, API or storage backend that it does not have. A
	// warning where it refers to an environment variable that only the image could set.
	BrokenReference Code = "BrokenReference"
	// UnknownRelease: the server is newer than every release line that the operator knows. A warning.
	UnknownRelease Code = "UnknownRelease"
	// InvalidBase: the base configuration cannot be read.
	InvalidBase Code = "InvalidBase"
	// TooLarge: the generated configuration would be larger than the operator writes.
	TooLarge Code = "TooLarge"
	// Canceled: the context ended before the configuration was complete. Nothing is wrong; try again.
	Canceled Code = "Canceled"
)

// Severity tells whether a finding prevents a configuration.
type Severity string

// The severities.
const (
	// Error prevents a configuration.
	Error Severity = "Error"
	// Warning tells of something that is probably not what the user wants.
	Warning Severity = "Warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	Code     Code
	Severity Severity
	// Path is the field of the resource, or the place in the configuration when it begins with "config.yaml".
	Path string
	// Message tells what is wrong.
	Message string
	// Mending tells how to mend it.
	Mending string
}

// String returns "path: message: mending", cut to the length of a message.
func (f Finding) String() string { return bounds.Message(f.Path + ": " + f.Message + ": " + f.Mending) }

// Findings are all findings of one generation: errors first, otherwise in the order of the resource.
type Findings []Finding

// HasErrors tells whether there is an error among the findings.
func (fs Findings) HasErrors() bool {
	return slices.ContainsFunc(fs, func(f Finding) bool { return f.Severity == Error })
}

// Errors returns the findings that prevent a configuration.
func (fs Findings) Errors() Findings { return fs.withSeverity(Error) }

// Warnings returns the findings that do not prevent a configuration.
func (fs Findings) Warnings() Findings { return fs.withSeverity(Warning) }

// String returns the findings, one in a line.
func (fs Findings) String() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

func (fs Findings) withSeverity(s Severity) Findings {
	var some Findings
	for _, f := range fs {
		if f.Severity == s {
			some = append(some, f)
		}
	}
	return some
}

// ordered returns errors before warnings and keeps the order otherwise.
func (fs Findings) ordered() Findings { return append(fs.Errors(), fs.Warnings()...) }

// report collects findings: so many of each severity, and of the others only how many there are.
type report struct {
	Findings
	count map[Severity]int
}

func (r *report) fail(code Code, path, message, mending string) {
	r.add(Finding{Code: code, Severity: Error, Path: path, Message: message, Mending: mending})
}

func (r *report) warn(code Code, path, message, mending string) {
	r.add(Finding{Code: code, Severity: Warning, Path: path, Message: message, Mending: mending})
}

func (r *report) add(f Finding) {
	if r.skip(f.Severity) {
		return
	}
	f.Path, f.Message, f.Mending = bounds.Message(f.Path), bounds.Message(f.Message), bounds.Message(f.Mending)
	r.Findings = append(r.Findings, f)
	r.count[f.Severity]++
}

// skip counts a finding, and tells that it is one too many to be shown. Ask before composing an expensive message.
func (r *report) skip(s Severity) bool {
	if r.count == nil {
		r.count = map[Severity]int{}
	}
	if r.count[s] < bounds.Problems {
		return false
	}
	r.count[s]++
	return true
}

// all returns the findings in order, and tells how many more there are.
func (r *report) all() Findings {
	shown := r.Findings
	for _, s := range []Severity{Error, Warning} {
		if more := r.count[s] - bounds.Problems; more > 0 {
			shown = append(shown, Finding{
				Code: InvalidSpec, Severity: s, Path: "spec", Message: fmt.Sprintf("and %d more problems", more), Mending: "fix these first",
			})
		}
	}
	return shown.ordered()
}

// failFields takes over the errors of the parsers. Their detail says how to mend, so that String gives their own text.
func (r *report) failFields(errs field.ErrorList) {
	for _, err := range errs {
		if r.skip(Error) {
			continue
		}
		message, _ := strings.CutSuffix(err.ErrorBody(), ": "+err.Detail)
		r.fail(InvalidSpec, err.Field, message, err.Detail)
	}
}

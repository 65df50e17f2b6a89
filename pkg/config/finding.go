// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// Code classifies a finding for machines. It is the reason of a problem.
type Code string

// The codes.
const (
	// InvalidSpec: a field of the resource has the wrong form; only an edit helps.
	InvalidSpec Code = "InvalidField"
	// Unsupported: the resource uses something that this operator does not support yet.
	Unsupported Code = "UnsupportedByOperator"
	// UnsupportedVersion: the base has a schema version that this operator does not know.
	UnsupportedVersion Code = "UnsupportedConfigVersion"
	// NotAvailable: the release line of the server does not have what the resource asks for.
	NotAvailable Code = "UnsupportedByRelease"
	// Disabled: the resource configures what it disables, or what cannot work without it.
	Disabled Code = "DisabledAPI"
	// UnknownProvider: a model, shield or tool names a provider that neither the resource nor the base has.
	UnknownProvider Code = "UnknownProvider"
	// UnknownProviderType: the release line does not know the provider type. A warning, because an image can bring its own; an error where
	// the name looks misspelled or stands under the wrong API.
	UnknownProviderType Code = "UnknownProviderType"
	// DeprecatedType: the release line has the provider type still, and says that it will go. A warning.
	DeprecatedType Code = "DeprecatedProviderType"
	// LiteralSecret: a secret stands in the resource itself. A warning.
	LiteralSecret Code = "LiteralSecret"
	// UnknownField: the provider type has no such config field on this release line.
	UnknownField Code = "UnknownField"
	// NoProvider: a model, shield or tool names no provider and there is no obvious one, or one that only the environment turns on.
	NoProvider Code = "AmbiguousProvider"
	// NoKey: tools are asked for whose provider has no key. A warning.
	NoKey Code = "MissingCredential"
	// Conflict: two places of the resource set the same thing.
	Conflict Code = "ConflictingFields"
	// InvalidEndpoint: an endpoint cannot be used.
	InvalidEndpoint Code = "InvalidEndpoint"
	// NoModel: a shield names no model that it could ask, and there is no obvious one.
	NoModel Code = "UnknownModel"
	// BrokenReference: the configuration contradicts itself: it names a provider, shield, API or storage backend that it does not have. A
	// warning where it refers to an environment variable that only the image could set.
	BrokenReference Code = "BrokenReference"
	// UnknownRelease: the server is newer than every release line that the operator knows. A warning.
	UnknownRelease Code = "UnknownServerRelease"
	// InvalidBase: the base configuration cannot be read.
	InvalidBase Code = "InvalidBaseConfig"
	// TooLarge: the generated configuration would be larger than the operator writes.
	TooLarge Code = "TooLarge"
	// Canceled: the context ended before the configuration was complete. Nothing is wrong; try again.
	Canceled Code = "Interrupted"
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
func (f Finding) String() string {
	text := f.Path + ": " + f.Message
	if f.Mending != "" {
		text += ": " + f.Mending
	}
	return bounds.Message(text)
}

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

// findingsOf returns problems as findings.
func findingsOf(problems problem.List) Findings {
	var findings Findings
	for _, p := range problems {
		fix, message := p.Fix, p
		message.Fix = ""
		findings = append(findings, Finding{Code: Code(p.Reason), Severity: Severity(p.Severity), Path: p.Path, Message: message.Body(), Mending: fix})
	}
	return findings
}

// report collects findings as problems.
type report struct{ problem.Collector }

func (r *report) fail(code Code, path, message, mending string) {
	r.add(Finding{Code: code, Severity: Error, Path: path, Message: message, Mending: mending})
}

func (r *report) warn(code Code, path, message, mending string) {
	r.add(Finding{Code: code, Severity: Warning, Path: path, Message: message, Mending: mending})
}

func (r *report) add(f Finding) {
	r.Add(problem.Problem{
		Reason: problem.Reason(f.Code), Severity: problem.Severity(f.Severity),
		Path: bounds.Message(f.Path), Detail: bounds.Message(f.Message), Fix: bounds.Message(f.Mending),
	})
}

// skip counts an error, and reports that it is one too many to be shown. Ask before composing an expensive message.
func (r *report) skip() bool { return r.Full(problem.Error) }

// all returns the findings in order, and tells how many more there are.
func (r *report) all() Findings { return findingsOf(r.List()) }

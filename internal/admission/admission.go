// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

// Request is what is judged.
type Request struct {
	// New is the resource that shall be stored.
	New *v1alpha2.LlamaStackDistribution
	// Old is the resource that is stored; nil where New is created.
	Old *v1alpha2.LlamaStackDistribution
	// Version is the version of the API in which the request was made, such as "v1alpha1". New and Old are converted already.
	Version string
}

// Answer is the judgement.
type Answer struct {
	// Errors refuse the request, each with its field.
	Errors field.ErrorList
	// Warnings are shown to whoever makes the request.
	Warnings []string
}

// Needed tells whether the request is to be judged at all: only where it changes the spec, and nothing is on its way out.
func (r *Request) Needed() bool {
	if r.New.DeletionTimestamp != nil {
		return false
	}
	return r.Old == nil || !equality.Semantic.DeepEqual(&r.New.Spec, &r.Old.Spec)
}

// Judge says what is wrong with a request that needs judging. The inputs are those of its new resource, in which
// Secrets and ConfigMaps count as found, with unknown content; found are the faults of gathering them, and Distribution is nil where they tell why.
func Judge(ctx context.Context, r *Request, in *desired.Inputs, found fault.List) Answer {
	var warnings []string
	if in.Distribution != nil {
		built, faults := desired.Build(ctx, in)
		found = slices.Concat(found, faults)
		for _, w := range built.Warnings {
			warnings = append(warnings, r.warning(w.String()))
		}
	}
	var a Answer
	lenient := r.inV1alpha1() || v1alpha2.Legacy(r.New).FromV1alpha1
	for _, f := range found {
		f.Message = bounds.Message(f.Message) // it may quote what was sent
		switch {
		case f.Class == fault.FailedToAsk:
		case f.Class == fault.Wrong && !lenient && r.blames(f):
			a.Errors = append(a.Errors, fieldError(f))
		default:
			a.Warnings = append(a.Warnings, r.warning(f.Message))
		}
	}
	a.Warnings = append(a.Warnings, warnings...)
	return a
}

func (r *Request) inV1alpha1() bool { return r.Version == v1alpha2.OriginV1alpha1 }

// blames tells whether an edit of the request, and nothing else, mends the fault.
func (r *Request) blames(f *fault.Fault) bool {
	switch f.Reason {
	case v1alpha2.ReasonUnsupported, // admitted, and told of by the controller
		v1alpha2.ReasonMissingConfigLabels, v1alpha2.ReasonUnknownServerLine, v1alpha2.ReasonInvalidSettings: // the operator's settings can mend these
		return false
	}
	path := f.Path()
	if strings.HasPrefix(path, "metadata.") {
		return r.Old == nil // nobody can rename what exists
	}
	return strings.HasPrefix(path, "spec.")
}

// warning says in whose words the fields are named, where those are not the requester's.
func (r *Request) warning(message string) string {
	if r.inV1alpha1() {
		return "in terms of " + v1alpha2.GroupVersion.Version + ": " + message
	}
	return message
}

// fieldError takes a message apart: the field, the kind of error where the message begins with one, and the rest.
func fieldError(f *fault.Fault) *field.Error {
	path := f.Path()
	e := &field.Error{
		Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: strings.TrimPrefix(strings.TrimPrefix(f.Message, path), ": "),
	}
	for _, kind := range []field.ErrorType{
		field.ErrorTypeInvalid, field.ErrorTypeRequired, field.ErrorTypeForbidden, field.ErrorTypeDuplicate, field.ErrorTypeNotSupported,
	} {
		if rest, ok := strings.CutPrefix(e.Detail, kind.String()+": "); ok {
			e.Type, e.Detail = kind, rest
			break
		}
	}
	return e
}

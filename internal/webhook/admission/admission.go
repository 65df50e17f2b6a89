// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
)

// Request is what is validated.
type Request struct {
	// New is the resource that shall be stored.
	New *v1alpha2.LlamaStackDistribution
	// Old is the resource that is stored; nil where New is created.
	Old *v1alpha2.LlamaStackDistribution
	// Version is the version of the API in which the request was made, such as "v1alpha1". New and Old are converted
	// already.
	Version string
}

// Result is the result of a validation.
type Result struct {
	// Errors refuse the request, each with its field.
	Errors field.ErrorList
	// Warnings are shown to anyone who makes the request.
	Warnings []string
}

// Needed reports whether the request is to be validated at all: only where it changes the spec, and nothing is on its
// way out.
func (r *Request) Needed() bool {
	if r.New.DeletionTimestamp != nil {
		return false
	}
	return r.Old == nil || !equality.Semantic.DeepEqual(&r.New.Spec, &r.Old.Spec)
}

// Validate says what is wrong with a request that needs validating. The inputs are those of its new custom resource, in
// which Secrets and ConfigMaps count as found, with unknown content; found are the problems of gathering them, which
// say why where Distribution is nil.
func Validate(ctx context.Context, r *Request, in *build.Inputs, found problem.List) Result {
	if in.Distribution != nil || in.Unresolved {
		_, problems := build.Build(ctx, in)
		found = slices.Concat(found, problems)
	}
	var a Result
	var remarks []string
	lenient := r.inV1alpha1() || in.Legacy.FromV1alpha1
	for _, p := range found {
		switch {
		case p.Severity == problem.Warning && p.Reason == problem.ImageNotAccessible &&
			r.keepsDistribution(): // so the image that runs stays
		case p.Severity == problem.Warning:
			remarks = append(remarks, r.warning(p))
		case p.Class == problem.Transient:
		case p.Class == problem.Terminal && !lenient && r.isUserError(p):
			a.Errors = append(a.Errors, p.FieldError())
		default:
			a.Warnings = append(a.Warnings, r.warning(p))
		}
	}
	a.Warnings = append(a.Warnings, remarks...)
	return a
}

// keepsDistribution reports whether an edit leaves the distribution as it is.
func (r *Request) keepsDistribution() bool {
	return r.Old != nil && equality.Semantic.DeepEqual(&r.New.Spec.Distribution, &r.Old.Spec.Distribution)
}

func (r *Request) inV1alpha1() bool { return r.Version == v1alpha2.OriginV1alpha1 }

// isUserError reports whether an edit of the request, and nothing else, fixes the problem. Nobody can rename what
// exists, and a problem of the generated configuration may come from its base.
func (r *Request) isUserError(p problem.Problem) bool {
	if strings.HasPrefix(p.Path, "metadata.") {
		return p.FixedBySpec() && r.Old == nil
	}
	return p.FixedBySpec() && strings.HasPrefix(p.Path, "spec")
}

// warning says in whose words the fields are named, where those are not the requester's.
func (r *Request) warning(p problem.Problem) string {
	if r.inV1alpha1() {
		return limits.Message("in terms of " + v1alpha2.GroupVersion.Version + ": " + p.String())
	}
	return p.String()
}

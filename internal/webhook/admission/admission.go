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

// Request is a create or update request to validate.
type Request struct {
	// New is the resource to store.
	New *v1alpha2.LlamaStackDistribution
	// Old is the stored resource; nil on create.
	Old *v1alpha2.LlamaStackDistribution
	// Version is the API version of the request, such as "v1alpha1"; New and Old are already converted.
	Version string
}

// Result is the result of a validation.
type Result struct {
	// Errors are the field errors that reject the request.
	Errors field.ErrorList
	// Warnings are returned to the client.
	Warnings []string
}

// ChangesSpec reports whether the request changes the spec of a resource that is not being deleted.
func (r *Request) ChangesSpec() bool {
	if r.New.DeletionTimestamp != nil {
		return false
	}
	return r.Old == nil || !equality.Semantic.DeepEqual(&r.New.Spec, &r.Old.Spec)
}

// Validate returns the errors and warnings for a request. The inputs treat every Secret and ConfigMap as existing with
// unknown content; found are the problems of gathering the inputs.
func Validate(ctx context.Context, r *Request, in *build.Inputs, found problem.List) Result {
	if in.Distribution != nil || in.Unresolved {
		_, problems := build.Build(ctx, in)
		found = slices.Concat(found, problems)
	}
	var result Result
	var otherWarnings []string
	lenient := r.inV1alpha1() || in.Legacy.FromV1alpha1
	for _, p := range found {
		switch {
		case p.Severity == problem.Warning && p.Reason == problem.ImageNotAccessible &&
			r.keepsDistribution(): // the running image stays
		case p.Severity == problem.Warning:
			otherWarnings = append(otherWarnings, r.warning(p))
		case p.Class == problem.Transient:
		case p.Class == problem.Terminal && !lenient && r.isUserError(p):
			result.Errors = append(result.Errors, p.FieldError())
		default:
			result.Warnings = append(result.Warnings, r.warning(p))
		}
	}
	result.Warnings = append(result.Warnings, otherWarnings...)
	return result
}

// keepsDistribution reports whether an update leaves spec.distribution unchanged.
func (r *Request) keepsDistribution() bool {
	return r.Old != nil && equality.Semantic.DeepEqual(&r.New.Spec.Distribution, &r.Old.Spec.Distribution)
}

func (r *Request) inV1alpha1() bool { return r.Version == v1alpha2.OriginV1alpha1 }

// isUserError reports whether only an edit of this request can fix the problem. A stored resource cannot be renamed,
// and a problem outside the spec may come from the base configuration.
func (r *Request) isUserError(p problem.Problem) bool {
	if strings.HasPrefix(p.Path, "metadata.") {
		return p.FixedBySpec() && r.Old == nil
	}
	return p.FixedBySpec() && strings.HasPrefix(p.Path, "spec")
}

// warning returns the text of the problem, and says so if its fields are named in v1alpha2 but the request is v1alpha1.
func (r *Request) warning(p problem.Problem) string {
	if r.inV1alpha1() {
		return limits.Message("in terms of " + v1alpha2.GroupVersion.Version + ": " + p.String())
	}
	return p.String()
}

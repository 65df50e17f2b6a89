// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// conflictAdvice never suggests to delete the object, which may be a server in use.
const conflictAdvice = "create the LlamaStackDistribution under another name, or rename the other object"

// WasApplied reports whether this operator has applied a spec of the custom resource.
func WasApplied(owner *v1alpha2.LlamaStackDistribution) bool {
	return owner.Status.ResolvedDistribution != nil
}

// Conflict returns the problem of an object that is not the custom resource's own.
func Conflict(description string, live metav1.Object, owner *v1alpha2.LlamaStackDistribution) *problem.Problem {
	p := problem.Problem{Reason: problem.Conflict, Path: description, Fix: conflictAdvice}
	controller, outcome := metav1.GetControllerOf(live), "; nothing was changed"
	if !WasApplied(owner) {
		outcome = "; nothing was created"
	}
	switch {
	case controller == nil:
		p.Detail = "exists and was created by neither this operator nor release 0.9 for this LlamaStackDistribution" + outcome
	case controller.Kind == v1alpha2.Kind && controller.Name == owner.Name:
		// The garbage collector deletes it, which is an event.
		p.Reason, p.Detail, p.Fix = problem.WaitingForRemoval, "still belongs to an earlier custom resource of this name, "+
			"which is being removed", "wait"
	default:
		p.Detail = fmt.Sprintf("exists and is controlled by %s %s%s", controller.Kind, controller.Name, outcome)
	}
	return problem.New(p)
}

// deniedByPolicy reports whether an admission policy or webhook denied an object: the error names no field, or has
// status 400 without a reason of the API server.
func deniedByPolicy(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	if apierrors.IsBadRequest(err) {
		return apierrors.ReasonForError(err) != metav1.StatusReasonBadRequest
	}
	details := status.Status().Details
	if !apierrors.IsInvalid(err) || details == nil {
		return false
	}
	causes := details.Causes
	return len(causes) > 0 && !slices.ContainsFunc(causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// Failed returns the problem of an API server's error: terminal if the object is invalid or too large, else transient.
func Failed(description, failure string, err error) *problem.Problem {
	p := problem.Problem{
		Reason: problem.ApplyFailed, Path: description, Err: err,
		Detail: fmt.Sprintf("%s: %v", failure, problem.StableError(err)),
	}
	switch {
	case (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && !deniedByPolicy(err), unknownField(err),
		isDropped(err):
		p.Reason = problem.ObjectRejected
	case TooLarge(err):
		p.Reason, p.Fix = problem.ObjectRejected, "make it smaller: fewer or shorter values in the spec, or in the objects "+
			"that it refers to"
	}
	return problem.New(p)
}

// sizeErrors are parts of etcd's messages about too large objects, which the API server returns as internal errors.
var sizeErrors = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// TooLarge reports whether the API server refused an object for its size, so that retries do not help.
func TooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	if reason := apierrors.ReasonForError(err); err == nil || reason != metav1.StatusReasonUnknown &&
		reason != metav1.StatusReasonInternalError {
		return false
	}
	for _, text := range sizeErrors {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// unknownField reports whether the API server does not know a field of an object, in a strict create or an apply.
func unknownField(err error) bool {
	return len(unknownFields(err)) > 0 || strings.Contains(err.Error(), "field not declared in schema")
}

// unknownFields returns the unknown fields that a strict create reports.
func unknownFields(err error) (fields []string) {
	_, list, strict := strings.Cut(err.Error(), "strict decoding error: ")
	for _, match := range quotedField.FindAllStringSubmatch(list, -1) {
		if strict {
			fields = append(fields, match[1])
		}
	}
	return fields
}

var quotedField = regexp.MustCompile(`unknown field "([^"]+)"`)

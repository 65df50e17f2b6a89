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
	"github.com/llamastack/llama-stack-k8s-operator/internal/stable"
)

// conflictAdvice never tells to remove the object: it may be a server that others use.
const conflictAdvice = "create the LlamaStackDistribution under another name, or give the other object another name"

// Conflict is the problem of an object that is not the custom resource's own.
func Conflict(what string, live metav1.Object, owner *v1alpha2.LlamaStackDistribution) *problem.Problem {
	p := problem.Problem{Reason: problem.Conflict, Path: what, Fix: conflictAdvice}
	controller := metav1.GetControllerOf(live)
	switch {
	case controller == nil:
		p.Detail = "exists and was made by neither this operator nor release 0.9 for this LlamaStackDistribution; nothing " +
			"was changed"
	case controller.Kind == v1alpha2.Kind && controller.Name == owner.Name:
		// The garbage collector is about to remove it; its going is an event.
		p.Reason, p.Detail, p.Fix = problem.WaitingForRemoval, "still belongs to an earlier custom resource of this name, "+
			"which is being removed", "wait"
	default:
		p.Detail = fmt.Sprintf("exists and is controlled by %s %s; nothing was changed", controller.Kind, controller.Name)
	}
	return problem.New(p)
}

// deniedByOthers reports whether an admission policy or a webhook of others denied an object, which may change without
// an edit. It names no field, as validation does, or answers 400 without one of the API server's reasons.
func deniedByOthers(err error) bool {
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

// Failed classifies an error of the API server: only an edit fixes what it calls invalid or too large, anything else
// may pass.
func Failed(what, how string, err error) *problem.Problem {
	p := problem.Problem{Reason: problem.ApplyFailed, Path: what, Detail: fmt.Sprintf("%s: %v", how, stable.Error(err)),
		Err: err}
	switch {
	case (apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) && !deniedByOthers(err), unknownField(err),
		isLeftOut(err):
		p.Reason = problem.ObjectRejected
	case TooLarge(err):
		p.Reason, p.Fix = problem.ObjectRejected, "make it smaller: fewer or shorter values in the spec, or in the objects "+
			"that it refers to"
	}
	return problem.New(p)
}

// refusedBySize are parts of the messages with which etcd, or the API server's client of it, refuses an object that is
// too large. The API server passes them on as internal errors, and nothing else in its answer distinguishes them from
// errors that pass.
var refusedBySize = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// TooLarge reports whether the API server refused an object because of its size: the request is above the API server's
// limit, or the stored object above that of etcd. Sending the same again does not help.
func TooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	if reason := apierrors.ReasonForError(err); err == nil || reason != metav1.StatusReasonUnknown &&
		reason != metav1.StatusReasonInternalError {
		return false
	}
	for _, text := range refusedBySize {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// unknownField reports whether the API server does not know a field of an object: created with strict validation, or
// applied.
func unknownField(err error) bool {
	return len(unknownFields(err)) > 0 || strings.Contains(err.Error(), "field not declared in schema")
}

// unknownFields are the fields of an object that the API server does not know, where it was created with strict
// validation.
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

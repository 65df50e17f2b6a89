// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// cutTooLarge measures the specs of a review before anything decodes it. A spec that is too deep or too wide is taken out, so that the
// rest can be decoded; that of the new object, where it differs from the old one, is the excess that refuses the request. What is within
// the limits here can still be over those of its fields: parse.CheckBounds says so.
func cutTooLarge(body []byte) ([]byte, *bounds.ExcessError) {
	var refused *bounds.ExcessError
	newBegin, newEnd, hasNew := bounds.Member(body, "request", "object", "spec")
	oldBegin, oldEnd, hasOld := bounds.Member(body, "request", "oldObject", "spec")
	// An object that is on its way out, or whose spec stays as it is, is not validated.
	_, _, deleted := bounds.Member(body, "request", "object", "metadata", "deletionTimestamp")
	same := hasNew && hasOld && bytes.Equal(body[newBegin:newEnd], body[oldBegin:oldEnd])
	excess := measureSpec(body[newBegin:newEnd])
	if excess != nil && !same && !deleted {
		refused = excess
	}
	oldToo := measureSpec(body[oldBegin:oldEnd]) != nil
	// From the end of the body to its beginning, so that positions stay true.
	type part struct{ begin, end int }
	var parts []part
	if excess != nil {
		parts = append(parts, part{newBegin, newEnd})
	}
	if oldToo {
		parts = append(parts, part{oldBegin, oldEnd})
	}
	if len(parts) == 2 && parts[0].begin < parts[1].begin {
		parts[0], parts[1] = parts[1], parts[0]
	}
	for _, p := range parts {
		body = bytes.Join([][]byte{body[:p.begin], []byte("{}"), body[p.end:]}, nil)
	}
	return body, refused
}

// measureSpec reports where a spec is deeper or wider than any that the operator takes.
func measureSpec(spec []byte) *bounds.ExcessError {
	_, excess := bounds.Scan(spec, bounds.Limits{Bytes: len(spec), Levels: bounds.ObjectLevels, Nodes: bounds.SpecNodes})
	return excess
}

// refuseTooLarge refuses a request whose spec is too large to be decoded. v1alpha1 is never refused what release 0.9 took.
func refuseTooLarge(request *admissionv1.AdmissionRequest, excess *bounds.ExcessError) *admissionv1.AdmissionResponse {
	path := "spec" + excess.Path
	detail := fmt.Sprintf("must nest at most %d levels: make it flatter", bounds.OpenFieldLevels)
	if excess.Unit != bounds.Levels {
		path, detail = "spec", fmt.Sprintf("may hold at most %d values, and its open fields %d: remove some", bounds.SpecNodes, bounds.OpenFieldNodes)
	}
	err := &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: detail}
	if requestVersion(request) == v1alpha2.OriginV1alpha1 {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{
			"in terms of " + v1alpha2.GroupVersion.Version + ": " + bounds.Message(err.Error()),
		}}
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, request.Name, field.ErrorList{err}).Status()
	return &admissionv1.AdmissionResponse{Result: &status}
}

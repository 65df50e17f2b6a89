// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// errDuplicateSpec means that the spec is duplicated or in another case, which no API server sends.
var errDuplicateSpec = errors.New("duplicate spec of an object, or a spec in another spelling")

// removeLargeSpecs removes specs that are too deep or too wide before they are decoded. A changed spec of the new
// object that is too large is recorded in excess.
func (in *admissionReview) removeLargeSpecs() error {
	object, err := measureSpec(in.object)
	if err != nil {
		return err
	}
	old, err := measureSpec(in.old)
	if err != nil {
		return err
	}
	// Objects being deleted and unchanged specs are not validated.
	_, _, deleted := limits.Member(in.object, "metadata", "deletionTimestamp")
	if same := object.text != nil && old.text != nil && bytes.Equal(object.text, old.text); !same && !deleted {
		in.excess = object.excess
	}
	in.object, in.old = object.removeFrom(in.object), old.removeFrom(in.old)
	return nil
}

// measuredSpec is the spec of an object.
type measuredSpec struct {
	// text is object[begin:end]; nil without a spec.
	text       []byte
	begin, end int
	excess     *limits.ExcessError
}

func measureSpec(object []byte) (s measuredSpec, err error) {
	begin, end, found := limits.Member(object, "spec")
	switch n := limits.Spellings(object, "spec"); {
	case n > 1 || n == 1 && !found:
		return s, errDuplicateSpec
	case found:
		s = measuredSpec{text: object[begin:end], begin: begin, end: end}
		_, s.excess = limits.Scan(s.text, limits.Limits{Bytes: len(s.text), Levels: limits.ObjectLevels,
			Nodes: limits.SpecNodes})
	}
	return s, nil
}

// removeFrom returns the object with an empty spec if the spec is too large.
func (s measuredSpec) removeFrom(object []byte) []byte {
	if s.excess == nil {
		return object
	}
	return bytes.Join([][]byte{object[:s.begin], []byte("{}"), object[s.end:]}, nil)
}

// rejectTooLarge rejects a request whose spec is too large to decode. v1alpha1 requests get a warning instead.
func rejectTooLarge(request *admissionv1.AdmissionRequest, excess *limits.ExcessError) *admissionv1.AdmissionResponse {
	path := "spec" + excess.Path
	detail := fmt.Sprintf("must nest at most %d levels: reduce the nesting", limits.OpenFieldLevels)
	if excess.Unit != limits.Levels {
		path, detail = "spec", fmt.Sprintf("must have at most %d values, and its open fields %d: remove some",
			limits.SpecNodes, limits.OpenFieldNodes)
	}
	err := &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: detail}
	if requestVersion(request) == v1alpha2.OriginV1alpha1 {
		return &admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{
			"in terms of " + v1alpha2.GroupVersion.Version + ": " + limits.Message(err.Error()),
		}}
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, request.Name,
		field.ErrorList{err}).Status()
	return &admissionv1.AdmissionResponse{Result: &status}
}

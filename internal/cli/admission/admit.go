// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metadatavalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// Problem is one reason to refuse an object.
type Problem struct {
	// Path is the field; empty where it is the object as a whole.
	Path string
	// Message is what the API server says, with the path.
	Message string
	// Kind tells what to make of it where the object is only read.
	Kind Kind
}

// Kind is a kind of problem.
type Kind int

// The kinds of problems.
const (
	// Shape: the object is not one of this version: an unknown field, a wrong type.
	Shape Kind = iota
	// Value: a value of the right type is not admitted, or is missing. An object that exists can be so: the API server does not
	// ask again about what an update leaves alone.
	Value
	// Unchecked: nothing is wrong by itself, but because of the others the rules were not checked.
	Unchecked
)

// Admit returns the object as the API server would store it, with defaults, or why it would refuse it. The object that is
// given is not changed; it needs a namespace, which kubectl gives.
func (s *Schema) Admit(ctx context.Context, object map[string]any) (map[string]any, []Problem) {
	object = runtime.DeepCopyJSON(object)
	problems := s.decode(object)
	defaulting.Default(object, s.structural)
	delete(object, "status") // what creates an object cannot set its status
	errs, unchecked := s.validate(ctx, object)
	for _, err := range errs {
		kind := Value
		if err.Type == field.ErrorTypeTypeInvalid {
			kind = Shape
		}
		problems = append(problems, Problem{Path: pathOf(err), Message: err.Error(), Kind: kind})
	}
	slices.SortFunc(problems, compareProblems)
	if unchecked {
		problems = append(problems, Problem{
			Path: "spec", Message: "spec: not all rules were checked because of these errors: mend them, then check again", Kind: Unchecked,
		})
	}
	return object, problems
}

// Default returns the object with the defaults of the version, as the API server reads it from its store. The object that is
// given is not changed.
func (s *Schema) Default(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	defaulting.Default(object, s.structural)
	return object
}

// compareProblems orders by field, what concerns the whole object last: the API server's order is that of a Go map.
func compareProblems(a, b Problem) int {
	if (a.Path == "") != (b.Path == "") {
		return strings.Compare(b.Path, a.Path)
	}
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
}

// decode drops what the schema does not know, as decoding a request does, and tells of it, as the strict validation does that
// kubectl asks for.
func (s *Schema) decode(object map[string]any) []Problem {
	var problems []Problem
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		problems = append(problems, Problem{Path: "metadata", Message: "metadata: " + err.Error()})
	}
	kind, apiVersion := object["kind"], object["apiVersion"]
	unknown = append(unknown, pruning.PruneWithOptions(object, s.structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	object["kind"], object["apiVersion"] = kind, apiVersion
	if err == nil && found {
		if err := objectmeta.SetObjectMeta(object, meta); err != nil {
			problems = append(problems, Problem{Path: "metadata", Message: "metadata: " + err.Error()})
		}
	}
	for _, path := range unknown {
		problems = append(problems, Problem{Path: path, Message: fmt.Sprintf("unknown field %q", path)})
	}
	return problems
}

// validate checks the object; the order is that of the API server. It tells whether the rules could not be checked.
func (s *Schema) validate(ctx context.Context, object map[string]any) (errs field.ErrorList, unchecked bool) {
	if meta, _, err := objectmeta.GetObjectMeta(object, true); err == nil && meta != nil {
		errs = append(errs, metadatavalidation.ValidateObjectMeta(meta, true, metadatavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))...)
	}
	errs = append(errs, validation.ValidateCustomResource(nil, object, s.openAPI)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, object, s.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if slices.ContainsFunc(errs, blocksRules) {
		return errs, true
	}
	byRules, _ := s.rules.Validate(ctx, nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, byRules...), false
}

// blocksRules tells whether rules could not be evaluated over what the error is about.
func blocksRules(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, err.Type)
}

// pathOf returns the field of the error; the root has the path "<nil>".
func pathOf(err *field.Error) string {
	if err.Field == "<nil>" {
		return ""
	}
	return err.Field
}

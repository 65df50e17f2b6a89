// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

// Refusal is one reason to refuse an object.
type Refusal struct {
	problem.Problem
	// Kind reports what to make of it where the object is only read.
	Kind Kind
}

// Kind is a kind of refusal.
type Kind int

// The kinds of refusals.
const (
	// Shape: the object is not one of this version: an unknown field, a wrong type.
	Shape Kind = iota
	// Value: a value of the right type is not admitted, or is missing. An object that exists can be so: the API server
	// does not ask again about what an update leaves alone.
	Value
	// Unchecked: nothing is wrong by itself, but because of the others the rules were not checked.
	Unchecked
)

// Admit returns the object as the API server would store it, with defaults, and why it would refuse it. The object that
// is given is not changed; it needs a namespace, which kubectl gives. A name that the API server would make of
// generateName ends in "xxxxx" here.
func (s *Schema) Admit(ctx context.Context, object map[string]any) (map[string]any, []Refusal) {
	object = runtime.DeepCopyJSON(object)
	refusals := s.decode(object)
	generateName(object)
	defaulting.Default(object, s.structural)
	delete(object, "status") // what creates an object cannot set its status
	errs, unchecked := s.validate(ctx, object)
	for _, err := range errs {
		kind := Value
		if err.Type == field.ErrorTypeTypeInvalid {
			kind = Shape
		}
		p := problem.FromFieldError(err)
		p.Path = pathOf(err)
		if err.Type == field.ErrorTypeNotSupported {
			p.Fix = s.nearestValue(p.Path, err.BadValue)
		}
		refusals = append(refusals, refusal(kind, p))
	}
	slices.SortFunc(refusals, compareRefusals)
	if unchecked {
		refusals = append(refusals, refusal(Unchecked, problem.Problem{
			Reason: problem.MoreProblems, Severity: problem.Warning, Path: "spec",
			Detail: "not all rules of the schema were checked because of these errors", Fix: "fix them, then check again",
		}))
	}
	return object, refusals
}

// generateName makes a name of metadata.generateName where the object has none, as the API server does: its first 58
// characters, and five that are random there and always the same here.
func generateName(object map[string]any) {
	const random, longest = "xxxxx", 63
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if prefix, _ := meta["generateName"].(string); name == "" && prefix != "" {
		meta["name"] = prefix[:min(len(prefix), longest-len(random))] + random
	}
}

func refusal(kind Kind, p problem.Problem) Refusal {
	return Refusal{Problem: *problem.New(p), Kind: kind}
}

// Default returns the object with the defaults of the version, as the API server reads it from its store. The object
// that is given is not changed.
func (s *Schema) Default(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	defaulting.Default(object, s.structural)
	return object
}

// compareRefusals orders by field: the API server's order is that of a Go map.
func compareRefusals(a, b Refusal) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Detail, b.Detail))
}

// decode drops what the schema does not know, as decoding a request does, and reports it, as the strict validation does
// that kubectl asks for.
func (s *Schema) decode(object map[string]any) []Refusal {
	var refusals []Refusal
	add := func(p problem.Problem) { refusals = append(refusals, refusal(Shape, p)) }
	meta, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		add(problem.Problem{Reason: problem.InvalidField, Path: "metadata", Type: field.ErrorTypeInvalid,
			Detail: err.Error()})
	}
	kind, apiVersion := object["kind"], object["apiVersion"]
	unknown = append(unknown, pruning.PruneWithOptions(object, s.structural, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	object["kind"], object["apiVersion"] = kind, apiVersion
	if err == nil && found {
		if err := objectmeta.SetObjectMeta(object, meta); err != nil {
			add(problem.Problem{Reason: problem.InvalidField, Path: "metadata", Type: field.ErrorTypeInvalid,
				Detail: err.Error()})
		}
	}
	for _, path := range unknown {
		add(problem.Problem{Reason: problem.UnknownField, Path: path, Detail: "unknown field", Fix: s.nearestField(path)})
	}
	return refusals
}

// nearestField names the field that the author of an unknown one most likely means; empty where none is near.
func (s *Schema) nearestField(path string) string {
	parent, name := s.parentOf(path)
	if parent == nil {
		return ""
	}
	known := slices.Collect(maps.Keys(parent.Properties))
	if strings.HasPrefix(path, "metadata.") {
		known = []string{"annotations", "finalizers", "generateName", "labels", "name", "namespace", "ownerReferences"}
	}
	return strings.TrimSpace(suggest.Sentence(name, known))
}

// nearestValue names the value that the author of an unsupported one most likely means; empty where none is near.
func (s *Schema) nearestValue(path string, value any) string {
	parent, name := s.parentOf(path)
	written, isText := value.(string)
	if parent == nil || !isText {
		return ""
	}
	of, known := parent.Properties[name], []string{}
	if parent.Items != nil {
		of = *parent.Items
	}
	if of.ValueValidation != nil {
		for _, one := range of.ValueValidation.Enum {
			known = append(known, fmt.Sprint(one.Object))
		}
	}
	return strings.TrimSpace(suggest.Sentence(written, known))
}

// parentOf returns the schema of what a field is part of, nil where it has none, and the field's own name.
func (s *Schema) parentOf(path string) (*schema.Structural, string) {
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	at := s.structural
	for _, step := range steps[:max(0, len(steps)-1)] {
		next, known := at.Properties[step]
		switch {
		case known:
			at = &next
		case at.Items != nil:
			at = at.Items
		default:
			return nil, ""
		}
	}
	return at, steps[len(steps)-1]
}

// validate checks the object; the order is that of the API server. It reports whether the rules could not be checked.
func (s *Schema) validate(ctx context.Context, object map[string]any) (errs field.ErrorList, unchecked bool) {
	if meta, _, err := objectmeta.GetObjectMeta(object, true); err == nil && meta != nil {
		errs = append(errs, metadatavalidation.ValidateObjectMeta(meta, true, metadatavalidation.NameIsDNSSubdomain,
			field.NewPath("metadata"))...)
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

// blocksRules reports whether rules could not be evaluated over what the error is about.
func blocksRules(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid,
	}, err.Type)
}

// pathOf returns the field of the error. The root, which the API server calls "<nil>", is validated by the name alone.
func pathOf(err *field.Error) string {
	if err.Field == "<nil>" || err.Field == "" {
		return "metadata.name"
	}
	return err.Field
}

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
)

// Rejection is an error of admission.
type Rejection struct {
	problem.Problem
	// Kind classifies the error for objects that exist already.
	Kind Kind
}

// Kind classifies a Refusal.
type Kind int

const (
	// Shape means that the object does not match the version: an unknown field or a wrong type.
	Shape Kind = iota
	// Value means that a value is invalid or missing; a stored object may have such values, because updates do not
	// revalidate unchanged fields.
	Value
	// Unchecked means that the rules were not evaluated because of other errors.
	Unchecked
)

// Admit returns a copy of the object as the API server would store it, and the reasons to reject it. The object needs a
// namespace.
func (s *Schema) Admit(ctx context.Context, object map[string]any) (map[string]any, []Rejection) {
	object = runtime.DeepCopyJSON(object)
	rejections := s.decode(object)
	generateName(object)
	defaulting.Default(object, s.structural)
	delete(object, "status") // the status cannot be set on create
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
		rejections = append(rejections, newRejection(kind, p))
	}
	slices.SortFunc(rejections, compareRejections)
	if unchecked {
		rejections = append(rejections, newRejection(Unchecked, problem.Problem{
			Reason: problem.MoreProblems, Severity: problem.Warning, Path: "spec",
			Detail: "these errors prevented some checks of the schema", Fix: "fix them, then check again",
		}))
	}
	return object, rejections
}

// generateName sets metadata.name from generateName as the API server does, with "xxxxx" instead of random characters.
func generateName(object map[string]any) {
	const random, longest = "xxxxx", 63
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if prefix, _ := meta["generateName"].(string); name == "" && prefix != "" {
		meta["name"] = prefix[:min(len(prefix), longest-len(random))] + random
	}
}

func newRejection(kind Kind, p problem.Problem) Rejection {
	return Rejection{Problem: *problem.New(p), Kind: kind}
}

// Default returns a copy of the object with the defaults of the version.
func (s *Schema) Default(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	defaulting.Default(object, s.structural)
	return object
}

// compareRejections orders by field, because the API server's order is random.
func compareRejections(a, b Rejection) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Detail, b.Detail))
}

// decode drops and reports unknown fields, like kubectl's strict validation.
func (s *Schema) decode(object map[string]any) []Rejection {
	var rejections []Rejection
	add := func(p problem.Problem) { rejections = append(rejections, newRejection(Shape, p)) }
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
	return rejections
}

// metadataFields are the fields of metadata that users write.
var metadataFields = []string{"annotations", "finalizers", "generateName", "labels", "name", "namespace",
	"ownerReferences"}

// nearestField returns a suggestion for an unknown field: the one of this name elsewhere in the spec, below metadata or
// spec for one of their fields at the top level, otherwise a similar name; empty if there is none.
func (s *Schema) nearestField(path string) string {
	parent, name := s.parentOf(path)
	if strings.HasPrefix(path, "spec.") {
		if at := s.fieldElsewhere(name); at != "" {
			return fmt.Sprintf("did you mean %s?", at)
		}
		if at := otherNames[name]; at != "" && !strings.HasPrefix(path, at+".") {
			return fmt.Sprintf("did you mean %s?", at)
		}
	}
	if parent == nil {
		return ""
	}
	if path == name {
		if slices.Contains(metadataFields, name) {
			return "write it below metadata, as metadata." + name
		}
		if s.Has("spec." + name) {
			return "write it below spec, as spec." + name
		}
	}
	known := slices.Collect(maps.Keys(parent.Properties))
	if strings.HasPrefix(path, "metadata.") {
		known = metadataFields
	}
	return strings.TrimSpace(problem.DidYouMean(name, known))
}

// Has reports whether the version has a field at the path.
func (s *Schema) Has(path string) bool {
	parent, name := s.parentOf(path)
	if parent == nil {
		return false
	}
	_, known := parent.Properties[name]
	return known
}

// otherNames are fields of Kubernetes that the spec has under another name.
var otherNames = map[string]string{
	"containerPort":        "spec.networking.port",
	"containers":           "spec.workload.overrides",
	"host":                 "spec.networking.expose",
	"hostname":             "spec.networking.expose",
	"ingress":              "spec.networking.expose",
	"ports":                "spec.networking.port",
	"template":             "spec.workload",
	"volumeClaimTemplates": "spec.workload.storage",
}

// deepestElsewhere is the depth of the deepest suggested field: spec.workload.storage.size has 3.
const deepestElsewhere = 3

// fieldElsewhere returns the path of the only field of this name that is nearest to the root of the spec, or "".
func (s *Schema) fieldElsewhere(name string) string {
	level := map[string]schema.Structural{"spec": s.structural.Properties["spec"]}
	for range deepestElsewhere {
		next, found := map[string]schema.Structural{}, ""
		for at, structural := range level {
			for property := range structural.Properties {
				below := at + "." + property
				next[below] = structural.Properties[property]
				switch {
				case !strings.EqualFold(property, name):
				case found != "":
					return ""
				default:
					found = below
				}
			}
		}
		if found != "" {
			return found
		}
		level = next
	}
	return ""
}

// nearestValue returns a suggestion for an unsupported value; empty if no value is similar.
func (s *Schema) nearestValue(path string, value any) string {
	parent, name := s.parentOf(path)
	text, isText := value.(string)
	if parent == nil || !isText {
		return ""
	}
	property, known := parent.Properties[name], []string{}
	if parent.Items != nil {
		property = *parent.Items
	}
	if property.ValueValidation != nil {
		for _, allowed := range property.ValueValidation.Enum {
			known = append(known, fmt.Sprint(allowed.Object))
		}
	}
	return strings.TrimSpace(problem.DidYouMean(text, known))
}

// parentOf returns the schema that contains a field, nil if unknown, and the field's name.
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

// validate validates the object in the API server's order, and reports whether errors prevented evaluating the rules.
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

// blocksRules reports whether the error prevents the evaluation of rules.
func blocksRules(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid,
	}, err.Type)
}

// pathOf returns the field of the error. Errors of the root, "<nil>" in the API server, are about the name.
func pathOf(err *field.Error) string {
	if err.Field == "<nil>" || err.Field == "" {
		return "metadata.name"
	}
	return err.Field
}

// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	celtypes "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// oldestKubernetes is the oldest supported release of the API server.
var oldestKubernetes = version.MajorMinor(1, 30)

// Policy is a compiled ValidatingAdmissionPolicy. It is immutable and safe for concurrent use.
type Policy struct {
	validations                  []admissionregistrationv1.Validation
	conditions, checks, messages cel.ConditionEvaluator
}

// New compiles a ValidatingAdmissionPolicy in YAML for the oldest supported Kubernetes. Parameters and the authorizer
// are not supported.
func New(definition []byte) (*Policy, error) {
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	if err := yaml.UnmarshalStrict(definition, &policy); err != nil {
		return nil, fmt.Errorf("ValidatingAdmissionPolicy: %w", err)
	}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(oldestKubernetes))
	if err != nil {
		return nil, fmt.Errorf("ValidatingAdmissionPolicy: %w", err)
	}
	declarations, mode := cel.OptionalVariableDeclarations{}, environment.NewExpressions
	var errs []error
	for _, v := range policy.Spec.Variables {
		e := expression{name: v.Name, text: v.Expression, returns: celtypes.AnyType}
		if result := compiler.CompileAndStoreVariable(e, declarations, mode); result.Error != nil {
			errs = append(errs, fmt.Errorf("variable %s: %w", v.Name, result.Error))
		}
	}
	compile := func(list []cel.ExpressionAccessor) cel.ConditionEvaluator {
		evaluator := compiler.CompileCondition(list, declarations, mode)
		errs = append(errs, evaluator.CompilationErrors()...)
		return evaluator
	}
	var conditions, checks, messages []cel.ExpressionAccessor
	for _, c := range policy.Spec.MatchConditions {
		conditions = append(conditions, expression{text: c.Expression, returns: celtypes.BoolType})
	}
	for _, v := range policy.Spec.Validations {
		checks = append(checks, expression{text: v.Expression, returns: celtypes.BoolType})
		messages = append(messages, expression{text: v.MessageExpression, returns: celtypes.StringType})
	}
	p := &Policy{
		validations: policy.Spec.Validations, conditions: compile(conditions), checks: compile(checks),
		messages: compile(messages),
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("ValidatingAdmissionPolicy %s: %w", policy.Name, err)
	}
	return p, nil
}

// expression is a CEL expression; only variables have a name.
type expression struct {
	name, text string
	returns    *celtypes.Type
}

func (e expression) GetName() string               { return e.name }
func (e expression) GetExpression() string         { return e.text }
func (e expression) ReturnTypes() []*celtypes.Type { return []*celtypes.Type{e.returns} }

// Validate returns the messages of failed validations; old is nil for a new object. The error is an evaluation error,
// to which the failurePolicy applies.
func (p *Policy) Validate(ctx context.Context, object, old map[string]any) ([]string, error) {
	attributes := attributesOf(object, old)
	request := cel.CreateAdmissionRequest(attributes, metav1.GroupVersionResource(attributes.GetResource()),
		metav1.GroupVersionKind(attributes.VersionedKind))
	evaluate := func(list cel.ConditionEvaluator, budget int64) ([]cel.EvaluationResult, int64, error) {
		results, left, err := list.ForInput(ctx, attributes, request, cel.OptionalVariableBindings{}, nil, budget)
		for _, r := range results {
			err = errors.Join(err, r.Error)
		}
		return results, left, err
	}
	conditions, _, err := evaluate(p.conditions, celconfig.RuntimeCELCostBudgetMatchConditions)
	if err != nil {
		return nil, err
	}
	for _, c := range conditions {
		if c.EvalResult != types.True {
			return nil, nil
		}
	}
	checks, left, err := evaluate(p.checks, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return nil, err
	}
	messages, _, err := evaluate(p.messages, left)
	if err != nil {
		return nil, err
	}
	var denied []string
	for i, check := range checks {
		if check.EvalResult != types.True {
			denied = append(denied, message(&p.validations[i], messages[i]))
		}
	}
	return denied, nil
}

// Admit returns the denial message for a new object; empty if it is admitted. Evaluation errors admit the object, as
// with failurePolicy Ignore.
func (p *Policy) Admit(ctx context.Context, object map[string]any) string {
	denials, err := p.Validate(ctx, object, nil)
	if err != nil {
		return ""
	}
	return strings.Join(denials, "; ")
}

// attributesOf returns the attributes of a create request, or an update request if old is set.
func attributesOf(object, old map[string]any) *admission.VersionedAttributes {
	o := &unstructured.Unstructured{Object: object}
	operation, before := admission.Create, runtime.Object(nil)
	if old != nil {
		operation, before = admission.Update, &unstructured.Unstructured{Object: old}
	}
	kind := o.GroupVersionKind()
	attributes := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(o, before, kind, o.GetNamespace(), o.GetName(),
			schema.GroupVersionResource{Group: kind.Group, Version: kind.Version}, "", operation, nil, false, nil),
		VersionedObject: admission.NewLazyObject(o), VersionedKind: kind,
	}
	if before != nil {
		attributes.VersionedOldObject = admission.NewLazyObject(before)
	}
	return attributes
}

// message returns the evaluated message expression, or v.Message if it is empty, too long or multi-line.
func message(v *admissionregistrationv1.Validation, evaluated cel.EvaluationResult) string {
	text, _ := evaluated.EvalResult.Value().(string)
	text = strings.TrimSpace(text)
	if text == "" || len(text) > celconfig.MaxEvaluatedMessageExpressionSizeBytes || strings.Contains(text, "\n") {
		return v.Message
	}
	return text
}

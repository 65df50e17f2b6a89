// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admission"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Versions returns the target versions of Convert, the storage version first.
func Versions() []string {
	return []string{v1alpha2.GroupVersion.Version, v1alpha1.GroupVersion.Version}
}

// Converted is a document in another version.
type Converted struct {
	Resource
	// Object is the converted object; nil on errors.
	Object map[string]any
	// Lost are the fields that the target kind cannot express.
	Lost []LostField
}

// Convert converts a document that Recognizes accepts. It fails on unknown fields and wrong types, and warns about
// fields to review and values that the API server would reject.
func (c *Cluster) Convert(ctx context.Context, d *manifest.Document, version string) *Converted {
	r := c.convert(ctx, d, version)
	defer r.sort()
	if r.Object != nil && r.Object["apiVersion"] != d.APIVersion() {
		r.warnCarried(version)
		r.warnVariables(c)
		for _, p := range r.allowedFrom(ctx, c) {
			r.addOperatorProblem(p)
		}
		r.warnRejected(ctx, c)
	}
	return r
}

// convert is Convert without the warnings about the target version.
func (c *Cluster) convert(ctx context.Context, d *manifest.Document, version string) *Converted {
	r := &Converted{Resource: Resource{Document: d}}
	defer r.sort()
	if schemaOf(&r.Resource) == nil {
		return r
	}
	for _, refusal := range c.rejections(ctx, d.Object) {
		if refusal.Kind != admission.Shape { // conversion keeps other invalid values
			refusal.Severity = problem.Warning
		}
		r.add(refusal.Problem)
	}
	if r.Failed() {
		return r
	}
	target := v1alpha2.GroupVersion.Group + "/" + version
	object, err := v1alpha1.Convert(d.Object, target)
	if err != nil {
		r.add(problem.Problem{Reason: problem.InvalidField, Path: "apiVersion", Type: field.ErrorTypeInvalid,
			Detail: err.Error(), Err: err})
		return r
	}
	r.Object = object
	return r
}

func withDefaultNamespace(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	if namespace, _, err := unstructured.NestedString(object, "metadata", "namespace"); namespace == "" && err == nil {
		_ = unstructured.SetNestedField(object, DefaultNamespace, "metadata",
			"namespace") // admission rejects metadata of another type
	}
	return object
}

// warnCarried warns about fields that the version does not have.
func (r *Converted) warnCarried(version string) {
	for _, path := range v1alpha1.CarriedPaths(r.Object) {
		r.warn(path, version+" cannot express this field",
			"it remains in effect as long as the annotation "+v1alpha2.ConversionAnnotation+" preserves it")
	}
	annotations, _, _ := unstructured.NestedStringMap(r.Object, "metadata", "annotations")
	before, _, _ := unstructured.NestedStringMap(r.Document.Object, "metadata", "annotations")
	if record, err := v1alpha2.ParseConversionRecord(annotations[v1alpha2.ConversionAnnotation]); err == nil {
		for _, path := range record.Lost {
			r.warn(path, "is lost, because the annotations would exceed their size limit", "remove large annotations, and "+
				"convert again")
		}
	}
	for key := range annotations {
		if _, old := before[key]; !old && strings.HasPrefix(key, v1alpha2.UnreadableConversionAnnotation) {
			r.warn("metadata.annotations["+key+"]",
				"the value of "+v1alpha2.ConversionAnnotation+" is invalid, and is kept here", "correct it, or remove it")
		}
	}
}

// warnVariables warns about environment variables that v1alpha2 replaces by fields.
func (r *Converted) warnVariables(c *Cluster) {
	if r.Document.APIVersion() != v1alpha1.GroupVersion.String() {
		return
	}
	name, _, _ := unstructured.NestedString(r.Object, "spec", "distribution", "name")
	image, _, _ := unstructured.NestedString(r.Object, "spec", "distribution", "image")
	distribution, unresolved := c.Replacement.resolve(c.Settings, &v1alpha2.LlamaStackDistribution{
		Spec: v1alpha2.LlamaStackDistributionSpec{Distribution: v1alpha2.DistributionSpec{Name: &name, Image: &image}},
	})
	if unresolved != nil || distribution.Base == nil {
		return // not a problem of conversion
	}
	read := distribution.Base.ProviderVariables()
	list, _, _ := unstructured.NestedSlice(r.Document.Object, "spec", "server", "containerSpec", "env")
	for i, item := range list {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		if providers := read[name]; len(providers) > 0 {
			path := fmt.Sprintf("spec.server.containerSpec.env[%d]", i)
			r.warn(path, fmt.Sprintf("%s configures %s of the distribution and remains an environment variable",
				name, strings.Join(providers, ", ")), "in v1alpha2, spec.providers can configure it")
		}
	}
}

// Distribution returns the resolved distribution of a v1alpha2 object.
func (c *Cluster) Distribution(object map[string]any) (*settings.Distribution, error) {
	cr, err := typed(object)
	if err != nil {
		return nil, err
	}
	distribution, unresolved := c.Replacement.resolve(c.Settings, cr)
	if unresolved != nil {
		return nil, errors.New(unresolved.String())
	}
	return distribution, nil
}

// allowedFrom returns the operator's warning that the conversion annotation prevents a NetworkPolicy.
func (r *Converted) allowedFrom(ctx context.Context, c *Cluster) problem.List {
	cr, err := typed(r.Object)
	if err != nil || r.Object["apiVersion"] != v1alpha2.GroupVersion.String() {
		return nil
	}
	in, unresolved := c.inputs(cr)
	if unresolved != nil {
		return nil // not a problem of conversion
	}
	_, problems := build.Build(ctx, in)
	return slices.DeleteFunc(problems.Warnings(), func(p problem.Problem) bool { return p.Path != build.PathAllowedFrom })
}

// warnRejected warns about errors that would prevent creating the converted object.
func (r *Converted) warnRejected(ctx context.Context, c *Cluster) {
	for _, refusal := range c.rejections(ctx, r.Object) {
		if refusal.Kind != admission.Unchecked {
			r.warn(refusal.Path, "the API server would reject the converted resource: "+refusal.Body(), "")
		}
	}
}

func (r *Converted) warn(path, detail, fix string) {
	r.add(problem.Problem{Reason: problem.ReviewConversion, Severity: problem.Warning, Path: path, Detail: detail,
		Fix: fix})
}

// rejections returns the errors of the schema and of the operator for an object of a known version.
func (c *Cluster) rejections(ctx context.Context, object map[string]any) []admission.Rejection {
	stored, rejections := schemas[fmt.Sprint(object["apiVersion"])]().Admit(ctx, withDefaultNamespace(object))
	if object["apiVersion"] != v1alpha2.GroupVersion.String() {
		return rejections
	}
	cr, err := typed(stored)
	if err != nil {
		return rejections
	}
	in, unresolved := c.inputs(cr)
	if unresolved != nil {
		return rejections // not a problem of conversion
	}
	var known problem.List
	for i := range rejections {
		known = append(known, rejections[i].Problem)
	}
	_, problems := build.Build(ctx, in)
	for _, p := range problems.Of(problem.Terminal) {
		if p.FixedBySpec() && !known.Covers(p.Path) && (!in.Legacy.FromV1alpha1 || p.Path == "metadata.name") {
			rejections = append(rejections, admission.Rejection{Problem: p, Kind: admission.Value})
		}
	}
	return rejections
}

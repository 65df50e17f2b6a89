// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/admission"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// DefaultNamespace is the namespace of a resource that names none.
const DefaultNamespace = "default"

// Finding is something that is wrong with a resource, or that its author should know.
type Finding struct {
	// Severity tells whether the resource can be used all the same.
	Severity config.Severity
	// Path is the field; empty where it is the resource as a whole, or something outside of it.
	Path string
	// Message tells the field, what is wrong and how to mend it.
	Message string
}

// Resource is a resource and what would become of it.
type Resource struct {
	// Document is where it was read from.
	Document *manifest.Document
	// Desired is what the operator would make of it; nil where there are errors.
	Desired *desired.Desired
	// Findings are errors and warnings, errors first.
	Findings []Finding
}

// Failed tells whether there is an error among the findings.
func (r *Resource) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == config.Error })
}

// Cluster stands for what a resource would meet in a cluster.
type Cluster struct {
	// Settings are the operator's settings.
	Settings *settings.Settings
	// Namespace is where resources go that name no namespace; empty means DefaultNamespace.
	Namespace string
	// StandIn replaces, where it is set, what the settings say of the distribution.
	StandIn StandIn
	// Policy judges the resource as the API server does by the ValidatingAdmissionPolicy. It may be nil: the operator's own checks
	// find the same, and compiling a policy takes longer than all the rest.
	Policy *admission.Policy

	schema *admission.Schema
}

// NewCluster returns a cluster with the CustomResourceDefinition and the settings.
func NewCluster(s *settings.Settings) (*Cluster, error) {
	schema, err := admission.NewSchema(crd.LlamaStackDistributions(), v1alpha2.GroupVersion.Version)
	if err != nil {
		return nil, err
	}
	return &Cluster{Settings: s, schema: schema}, nil
}

// Wants tells whether the document is of the kind that this package is about, in whatever version; one that has forgotten
// its apiVersion is.
func Wants(d *manifest.Document) bool {
	group, _, _ := strings.Cut(d.APIVersion(), "/")
	return d.Kind() == v1alpha2.Kind && (group == v1alpha2.GroupVersion.Group || group == "")
}

// Try tells what would become of the document, which Wants.
func (c *Cluster) Try(ctx context.Context, d *manifest.Document) *Resource {
	r := &Resource{Document: d}
	cr, denied := c.admit(ctx, r)
	if r.Failed() {
		return r
	}
	c.build(r, cr)
	r.addDenied(denied)
	return r
}

// build tells what the operator would make of the resource.
func (c *Cluster) build(r *Resource, cr *v1alpha2.LlamaStackDistribution) {
	in, f := c.inputs(cr)
	if f != nil {
		r.addFaults(f)
		return
	}
	made, faults := desired.Build(in)
	r.addFaults(faults...)
	for _, w := range made.Warnings {
		r.add(config.Warning, w.Path, w.String())
	}
	if len(faults) == 0 {
		r.Desired = made
	}
}

// addDenied adds what the policy denies. Where the operator finds the same it tells more, such as the nearest known name.
func (r *Resource) addDenied(problems []admission.Problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == config.Error && strings.HasPrefix(f.Path, p.Path) }) {
			r.Desired = nil
			r.Findings = slices.Insert(r.Findings, 0, Finding{Severity: config.Error, Path: p.Path, Message: p.Message})
		}
	}
}

func (r *Resource) add(severity config.Severity, path, message string) {
	r.Findings = append(r.Findings, Finding{Severity: severity, Path: path, Message: message})
}

// settingsHint is added where the operator's settings can help.
func settingsHint(reason string) string {
	switch reason {
	case v1alpha2.ReasonUnknownDistribution, v1alpha2.ReasonMissingConfigLabels, v1alpha2.ReasonUnknownServerLine:
		return " (if your cluster has such an entry, give that ConfigMap with --settings)"
	}
	return ""
}

func (r *Resource) addFaults(faults ...*fault.Fault) {
	for _, f := range faults {
		r.add(config.Error, f.Path(), f.Message+settingsHint(f.Reason))
	}
}

// admit brings the document through the API server's checks, and returns what its policy denies besides.
func (c *Cluster) admit(ctx context.Context, r *Resource) (*v1alpha2.LlamaStackDistribution, []admission.Problem) {
	if got, want := r.Document.APIVersion(), v1alpha2.GroupVersion.String(); got != want {
		r.add(config.Error, "apiVersion", notThisVersion(got, want))
		return nil, nil
	}
	object, f := c.placed(r.Document.Object)
	if f != "" {
		r.add(config.Error, "metadata.namespace", f)
		return nil, nil
	}
	stored, problems := c.schema.Admit(ctx, object)
	for _, p := range problems {
		r.add(config.Error, p.Path, p.Message)
	}
	if len(problems) > 0 {
		return nil, nil
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	raw, err := json.Marshal(stored)
	if err == nil {
		err = json.Unmarshal(raw, cr)
	}
	if err != nil {
		r.add(config.Error, "", err.Error())
		return nil, nil
	}
	if cr.UID == "" {
		cr.UID = secret.OnCluster
	}
	if c.Policy == nil {
		return cr, nil
	}
	return cr, c.Policy.Admit(ctx, stored)
}

func notThisVersion(got, want string) string {
	switch got {
	case "":
		return fmt.Sprintf("apiVersion: Required value: write apiVersion: %s", want)
	case v1alpha2.GroupVersion.Group + "/v1alpha1":
		return fmt.Sprintf("apiVersion: %s cannot be converted yet: write the resource as %s", got, want)
	}
	return fmt.Sprintf("apiVersion: %s is not known: write the resource as %s", got, want)
}

// placed returns the object in its namespace, and why it cannot be there.
func (c *Cluster) placed(object map[string]any) (placed map[string]any, problem string) {
	own, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	switch {
	case own == "":
		own = c.Namespace
	case c.Namespace != "" && own != c.Namespace:
		return nil, fmt.Sprintf("metadata.namespace: the resource names %q, and --namespace %q: they must be the same, or one of them absent",
			own, c.Namespace)
	}
	if own == "" {
		own = DefaultNamespace
	}
	placed = runtime.DeepCopyJSON(object)
	if placed["metadata"] == nil {
		placed["metadata"] = map[string]any{}
	}
	if metadata, ok := placed["metadata"].(map[string]any); ok {
		metadata["namespace"] = own
	}
	return placed, ""
}

// inputs are what the operator would gather.
func (c *Cluster) inputs(cr *v1alpha2.LlamaStackDistribution) (*desired.Inputs, *fault.Fault) {
	distribution, f := c.StandIn.resolve(c.Settings, &cr.Spec.Distribution)
	if f != nil {
		return nil, f
	}
	uses, _ := config.SecretUses(&cr.Spec) // what is wrong there the engine reports
	facts := make([]desired.SecretFact, len(uses))
	for i, use := range uses {
		facts[i] = desired.SecretFact{Use: use, State: desired.SecretFound}
	}
	bundle := desired.CABundleOf(cr)
	if bundle != nil {
		bundle.Unknown = true
	}
	return &desired.Inputs{CR: cr, Distribution: distribution, Secrets: facts, CABundle: bundle, Build: secret.OnCluster}, nil
}

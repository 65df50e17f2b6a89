// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/ogx"
)

// Kinds returns the target apiVersions of ConvertKind.
func Kinds() []string { return []string{ogx.APIVersion, v1alpha2.GroupVersion.String()} }

// IsOGXServer reports whether the document is an OGXServer. Manifests in the field name v1alpha1, too; its fields are
// read as those of the supported version.
func IsOGXServer(d *manifest.Document) bool {
	group, version, _ := strings.Cut(ogx.APIVersion, "/")
	return slices.Contains([]string{group + "/" + version, group + "/v1alpha1"}, d.APIVersion()) && d.Kind() == ogx.Kind
}

// LostField is a field that the target kind cannot express.
type LostField struct {
	problem.Problem
	// ValueType is the JSON type of its value.
	ValueType string
}

// ConvertKind converts a LlamaStackDistribution or an OGXServer to one of Kinds. A field that the target cannot express
// is a problem of the severity loss.
func (c *Cluster) ConvertKind(ctx context.Context, d *manifest.Document, to string, loss problem.Severity) *Converted {
	if IsOGXServer(d) {
		r := &Converted{Resource: Resource{Document: d}, Object: d.Object}
		if to != ogx.APIVersion {
			var findings []ogx.Finding
			r.Object, findings = ogx.To(d.Object, c.keysIn(d.Namespace()))
			r.addFindings(findings, loss)
			r.warnRejected(ctx, c)
		}
		return r
	}
	if to != ogx.APIVersion {
		return c.Convert(ctx, d, v1alpha2.GroupVersion.Version)
	}
	r := c.convert(ctx, d, v1alpha2.GroupVersion.Version)
	if r.Failed() {
		return r
	}
	if r.Object["apiVersion"] != d.APIVersion() {
		r.warnVariables(c)
		r.warnRejected(ctx, c)
	}
	around := c.surroundings(r)
	var findings []ogx.Finding
	r.Object, findings = ogx.From(r.Object, around)
	r.addFindings(findings, loss)
	return r
}

// surroundings returns what the conversion to OGXServer needs besides the spec. It warns about an allowedFrom that
// starts to have an effect.
func (c *Cluster) surroundings(r *Converted) ogx.Surroundings {
	around := ogx.Surroundings{NetworkPolicy: ptr.Deref(c.Settings.NetworkPolicy, false)}
	cr, err := typed(r.Object)
	if err != nil {
		return around
	}
	in := build.NewInputs(cr)
	in.NetworkPolicyFlag = c.Settings.NetworkPolicy
	around.Egress = c.egressRules(cr)
	around.Keys = c.keysIn(cr.Namespace)
	if in.IgnoresAllowedFrom() && !slices.Contains(cr.Spec.Networking.AllowedFrom.Namespaces, objects.AllNamespaces) {
		r.addOperatorProblem(problem.Problem{
			Reason: problem.ReviewConversion, Severity: problem.Warning, Path: build.PathAllowedFrom,
			Detail: "has no effect here, as in release 0.9, but the operator of OGXServer enforces it",
			Fix:    "check that it allows all clients",
		})
	}
	return around
}

// egressRules returns the rules of the NetworkPolicy for what the server connects to.
func (c *Cluster) egressRules(cr *v1alpha2.LlamaStackDistribution) (rules []any) {
	in, unresolved := c.inputs(cr)
	if unresolved != nil {
		return nil
	}
	list := in.EgressRules()
	for i := range list {
		rule, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&list[i])
		if err != nil {
			return nil // a rule that is not valid is a problem of the resource
		}
		rules = append(rules, rule)
	}
	return rules
}

// keysIn returns a function that returns the keys of the given ConfigMaps of a namespace.
func (c *Cluster) keysIn(namespace string) func(string) []string {
	namespace = cmp.Or(namespace, c.Namespace, DefaultNamespace)
	return func(name string) []string {
		return slices.Sorted(maps.Keys(c.configMapData(namespace, name)))
	}
}

func (r *Converted) addFindings(findings []ogx.Finding, loss problem.Severity) {
	defer r.sort()
	for _, f := range findings {
		p := problem.Problem{
			Reason: problem.ReviewConversion, Severity: problem.Warning, Path: f.Path, Detail: f.Detail, Fix: f.Fix,
		}
		switch {
		case f.Refused:
			p.Severity = problem.Error
		case f.Lost != "":
			p.Severity, p.Detail = loss, fmt.Sprintf("is lost (%s): %s", f.Lost, f.Detail)
		}
		before := len(r.Problems)
		r.addOperatorProblem(p)
		if f.Lost != "" {
			r.Lost = append(r.Lost, LostField{r.Problems[before], f.Lost})
		}
	}
}

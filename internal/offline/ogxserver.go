// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
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

// ConvertKind converts a LlamaStackDistribution or an OGXServer to one of Kinds. It warns about each field that the
// target does not have.
func (c *Cluster) ConvertKind(ctx context.Context, d *manifest.Document, to string) *Converted {
	if IsOGXServer(d) {
		r := &Converted{Resource: Resource{Document: d}, Object: d.Object}
		if to != ogx.APIVersion {
			var losses []ogx.Loss
			r.Object, losses = ogx.To(d.Object)
			r.addLosses(losses, v1alpha2.Kind)
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
	var losses []ogx.Loss
	if r.Object["apiVersion"] != d.APIVersion() {
		r.warnVariables(c)
		r.warnRejected(ctx, c)
	}
	for _, path := range v1alpha1.CarriedPaths(r.Object) { // OGXServer drops fields in the annotation
		losses = append(losses, ogx.Loss{Path: path})
	}
	r.addLosses(losses, ogx.Kind)
	if len(r.allowedFrom(ctx, c)) > 0 {
		r.warn(build.PathAllowedFrom, "has no effect here, as in release 0.9, but the operator of OGXServer enforces it",
			"check that it allows all clients")
	}
	r.Object, losses = ogx.From(r.Object)
	r.addLosses(losses, ogx.Kind)
	return r
}

func (r *Converted) addLosses(losses []ogx.Loss, kind string) {
	defer r.sort()
	for _, l := range losses {
		before := len(r.Problems)
		r.addOperatorProblem(problem.Problem{
			Reason: problem.ReviewConversion, Severity: problem.Warning, Path: l.Path, Detail: cmp.Or(l.Detail, kind+" cannot "+
				"express this field"), Fix: l.Fix,
		})
		r.Lost = append(r.Lost, r.Problems[before])
	}
}

// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"context"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/ogxserver"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// Kinds are what ConvertKind converts to, as apiVersions.
func Kinds() []string { return []string{ogxserver.APIVersion, v1alpha2.GroupVersion.String()} }

// IsOGXServer reports whether the document is an OGXServer of the version that is known.
func IsOGXServer(d *manifest.Document) bool {
	return d.APIVersion() == ogxserver.APIVersion && d.Kind() == ogxserver.Kind
}

// ConvertKind converts a document, which Recognizes accepts or which is an OGXServer, to one of Kinds. It warns of each field that the other kind
// cannot say, and lists them.
func (c *Cluster) ConvertKind(ctx context.Context, d *manifest.Document, to string) *Converted {
	if IsOGXServer(d) {
		r := &Converted{Resource: Resource{Document: d}, Object: d.Object}
		if to != ogxserver.APIVersion {
			var losses []ogxserver.Loss
			r.Object, losses = ogxserver.To(d.Object)
			r.lose(losses, v1alpha2.Kind)
		}
		return r
	}
	r := c.Convert(ctx, d, v1alpha2.GroupVersion.Version)
	if r.Failed() || to != ogxserver.APIVersion {
		return r
	}
	var losses []ogxserver.Loss
	r.Object, losses = ogxserver.From(r.Object)
	r.lose(losses, ogxserver.Kind)
	return r
}

// lose reports what a kind cannot say.
func (r *Converted) lose(losses []ogxserver.Loss, kind string) {
	defer r.sort()
	for _, l := range losses {
		before := len(r.Problems)
		r.addBuilt(problem.Problem{
			Reason: problem.ReviewConversion, Severity: problem.Warning, Path: l.Path, Detail: cmp.Or(l.Detail, kind+" cannot say this"), Fix: l.Fix,
		})
		r.Lost = append(r.Lost, r.Problems[before])
	}
}

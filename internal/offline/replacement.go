// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Replacement stands in for the registration of a distribution in the operator's settings, and for its registry. The
// zero Replacement changes nothing.
type Replacement struct {
	// Version is the release of the server; empty leaves it as the settings and the image have it.
	Version string
	// Base is the base configuration, as bytes; nil leaves it as the settings and the image have it.
	Base []byte
	// Labels are the labels of the image; nil where they are not known.
	Labels *oci.Labels
	// Package is the server's Python package in the image; nil where it is not known.
	Package *oci.Package
	// Running is the release line of the server that runs, where the resource has no status that says it; empty for none.
	Running string
}

// labelsCount reports whether the operator would ask a registry for the labels of the image, which is the only case in
// which they count.
func (s Replacement) labelsCount(known *settings.Settings, cr *v1alpha2.LlamaStackDistribution) bool {
	d, f := known.ResolveWithHints(&cr.Spec.Distribution, s.hints(cr))
	return known.Registries.Reads() && (f != nil || d.LabelsCount())
}

// hints are those of a resource: its status, where it is of a cluster, has the release line that runs.
func (s Replacement) hints(cr *v1alpha2.LlamaStackDistribution) settings.Hints {
	return build.Hints(build.NewInputs(cr), cmp.Or(build.ReportedLine(cr), s.Running))
}

// resolve is what the distribution of a resource resolves to with the replacement.
func (s Replacement) resolve(known *settings.Settings, cr *v1alpha2.LlamaStackDistribution) (*settings.Distribution,
	*problem.Problem) {
	spec, hints := &cr.Spec.Distribution, s.hints(cr)
	if s.Labels != nil && s.labelsCount(known, cr) {
		hints.Labels = s.Labels
	}
	hints.Package = s.Package
	if s.Version != "" {
		hints.Version, hints.VersionSource = s.Version, "--server-version"
	}
	if s.Base != nil {
		// The name stands in the header of what is generated: the same as for a registered distribution.
		name := ptr.Deref(spec.Name, ptr.Deref(spec.Image, ""))
		if d, f := known.ResolveWithHints(spec, hints); f == nil && d.Name != "" {
			name = d.Name
		}
		base, err := serverconfig.ParseBase(name, s.Base)
		if err != nil {
			return nil, problem.New(problem.Problem{
				Reason: problem.InvalidBaseConfig, Path: "spec.distribution", Type: field.ErrorTypeInvalid,
				Detail: "--base: " + err.Error(),
				Fix:    "correct the file", Err: err,
			})
		}
		hints.Base = base
	}
	if s.Base != nil || (hints.Labels != nil && hints.Labels.Config != nil) {
		// The settings of the cluster know the name; what image it stands for makes no difference to the configuration.
		hints.Image = secret.OnCluster
	}
	return known.ResolveWithHints(spec, hints)
}

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

// Replacement overrides the registration and the registry data of a distribution. The zero value changes nothing.
type Replacement struct {
	// Version is the server release; empty means no override.
	Version string
	// Base is the base configuration; nil means no override.
	Base []byte
	// Labels are the image labels; nil if unknown.
	Labels *oci.Labels
	// Package is the server's Python package; nil if unknown.
	Package *oci.Package
	// Running is the running release line if the status does not report it; may be empty.
	Running string
}

// readsLabels reports whether the operator would read the image labels.
func (s Replacement) readsLabels(known *settings.Settings, cr *v1alpha2.LlamaStackDistribution) bool {
	d, f := known.ResolveWithHints(&cr.Spec.Distribution, s.hints(cr))
	return known.Registries.ReadsLabels() && (f != nil || d.NeedsLabels())
}

// hints returns the hints of a custom resource, including its running release line.
func (s Replacement) hints(cr *v1alpha2.LlamaStackDistribution) settings.Hints {
	return build.Hints(build.NewInputs(cr), cmp.Or(build.ReportedLine(cr), s.Running))
}

// resolve returns the distribution with the replacement applied.
func (s Replacement) resolve(known *settings.Settings, cr *v1alpha2.LlamaStackDistribution) (*settings.Distribution,
	*problem.Problem) {
	spec, hints := &cr.Spec.Distribution, s.hints(cr)
	if s.Labels != nil && s.readsLabels(known, cr) {
		hints.Labels = s.Labels
	}
	hints.Package = s.Package
	if s.Version != "" {
		hints.Version, hints.VersionSource = s.Version, "--server-version"
	}
	if s.Base != nil {
		// The name appears in the header of the generated configuration.
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
		// The configuration does not depend on the image, so any name may be unknown here.
		hints.Image = secret.OnCluster
	}
	return known.ResolveWithHints(spec, hints)
}

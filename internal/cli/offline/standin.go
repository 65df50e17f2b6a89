// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// StandIn stands in for the registration of a distribution in the operator's settings. The zero StandIn changes nothing.
type StandIn struct {
	// Line is the release line of the server; nil leaves it as the settings tell it.
	Line *catalog.Line
	// Base is the base configuration, as bytes; nil leaves it as the settings tell it.
	Base []byte
}

// resolve is what the distribution resolves to with the stand-in in place.
func (s StandIn) resolve(known *settings.Settings, spec *v1alpha2.DistributionSpec) (*settings.Distribution, *fault.Fault) {
	d, f := known.Resolve(spec)
	switch {
	case f != nil && f.Reason == v1alpha2.ReasonUnknownDistribution && s.Base != nil:
		// The settings of the cluster know the name; what image it stands for makes no difference to the configuration.
		d = &settings.Distribution{Name: ptr.Deref(spec.Name, ""), Image: secret.OnCluster}
	case f != nil:
		return nil, f
	}
	if s.Line != nil {
		s.setLine(d)
	}
	if s.Base == nil {
		return d, nil
	}
	name := d.Name
	if name == "" {
		name = d.Image
	}
	base, err := config.ParseBase(name, s.Base)
	if err != nil {
		return nil, &fault.Fault{
			Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSettings,
			Message: "--base: " + err.Error(), Err: err,
		}
	}
	d.Base, d.Source = base, v1alpha2.ConfigSourceRegistered
	return d, nil
}

// setLine gives the distribution the release line, and with it the embedded base configuration of that line.
func (s StandIn) setLine(d *settings.Distribution) {
	d.Line, d.LineSource = s.Line, "--server-version"
	if d.Source == v1alpha2.ConfigSourceRegistered {
		return
	}
	name := d.Name
	if d.Base != nil {
		name = d.Base.Name() // two names can have one base
	}
	d.Base, d.Source = settings.EmbeddedBase(name, s.Line), v1alpha2.ConfigSourceEmbedded
	if d.Base == nil {
		d.Source = ""
	}
}

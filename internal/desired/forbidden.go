// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// checkForbidden reports what the spec asks for and the operator's settings forbid. What runs stays as it is.
func (r *report) checkForbidden(in *Inputs) {
	for _, use := range restrictedUses(in) {
		if !slices.Contains(in.Forbidden, use.restriction) {
			continue
		}
		r.Add(problem.Problem{
			Reason: problem.ForbiddenBySettings, Path: use.path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("the operator's administrator forbids %s (%s in the key %s of the ConfigMap %s)",
				use.what, use.restriction, settings.KeyForbid, settings.ConfigMapName),
			Fix: use.fix + ", or ask the administrator",
		})
	}
}

// restrictedUse is a field of the spec that a restriction is about.
type restrictedUse struct {
	path        string
	restriction settings.Restriction
	what, fix   string
}

func restrictedUses(in *Inputs) []restrictedUse {
	spec := &in.CR.Spec
	const overrides = "spec.workload.overrides"
	var uses []restrictedUse
	add := func(used bool, path string, r settings.Restriction, what, fix string) {
		if used {
			uses = append(uses, restrictedUse{path, r, what, fix})
		}
	}
	if spec.Workload != nil && spec.Workload.Overrides != nil {
		o := spec.Workload.Overrides
		for i := range o.Volumes {
			add(o.Volumes[i].HostPath != nil, fmt.Sprintf("%s.volumes[%d].hostPath", overrides, i), settings.ForbidHostPathVolumes,
				"hostPath volumes", "use another type of volume")
		}
		add(!objects.OwnServiceAccount(spec), overrides+".serviceAccountName", settings.ForbidForeignServiceAccounts,
			"ServiceAccounts that it did not make", "remove it")
		add(len(o.Command) > 0, overrides+".command", settings.ForbidCommandAndArgs, "command and args", "remove it")
		add(len(o.Args) > 0, overrides+".args", settings.ForbidCommandAndArgs, "command and args", "remove it")
	}
	add(len(in.Spec.External) > 0, pathExternal, settings.ForbidExternalProviders, "external providers",
		"use a provider of the server's image, or an image that has this one")
	add(in.isHostless(), pathExpose, settings.ForbidIngressWithoutHostname,
		"an Ingress or HTTPRoute without a host name", "set spec.networking.expose.hostname")
	return uses
}

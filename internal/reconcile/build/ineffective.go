// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const pathWorkers = "spec.workload.workers"

// warnIneffective warns of fields without effect.
func (d *Desired) warnIneffective(in *Inputs) {
	if n := in.CR.Spec.Networking; n != nil && n.TLS != nil && ptr.Deref(n.TLS.SecretName, "") != "" &&
		!ptr.Deref(n.TLS.Enabled, false) {
		d.problems.warn(problem.NoEffect, "spec.networking.tls.secretName", "has no effect while TLS is not enabled",
			"set spec.networking.tls.enabled: true, or remove it")
	}
	if in.CR.Spec.Workload == nil || in.Unresolved {
		return // the rest depends on the distribution
	}
	d.checkWorkers(in)
	d.warnLocalState(in)
	d.warnWorkersWithStores(in)
	if !in.Legacy.FromV1alpha1 {
		d.warnLegacyVariables(in)
	}
}

// warnLocalState warns of several pods that each keep state of their own, or share the files of a database. It skips a
// PVC of one node, for which checkStorage warns.
func (d *Desired) warnLocalState(in *Inputs) {
	w := in.CR.Spec.Workload
	var modes []corev1.PersistentVolumeAccessMode
	if in.Claim != nil {
		modes = in.Claim.AccessModes()
	}
	shared := objects.SharesData(&in.CR.Spec, modes)
	_, maxPods := objects.PodRange(&in.CR.Spec)
	if maxPods < 2 || w.Storage != nil && !shared || d.Override != nil {
		return
	}
	var local serverconfig.LocalState
	switch {
	case d.Config != nil:
		local = d.Config.LocalState
	case d.Distribution != nil && d.Distribution.Base != nil && !d.problems.HasErrors():
		local = serverconfig.LocalStateOf(d.Distribution.Base)
	}
	parts := local.Names()
	if len(parts) == 0 {
		return
	}
	if shared {
		d.problems.warn(problem.EphemeralState, pathStorage, "the pods write the same files at the same time, which "+
			"databases in files do not survive on a network volume: "+limits.Names(parts),
			"use one replica, or "+strings.Join(stateElsewhere(&local), "; and "))
		return
	}
	path := "spec.workload.replicas"
	if objects.Autoscaling(&in.CR.Spec) != nil {
		path = "spec.workload.autoscaling.maxReplicas"
	}
	d.problems.warn(problem.EphemeralState, path,
		"each pod has its own state, which other pods do not have and which is lost with the pod: "+limits.Names(parts),
		"use one replica, or "+strings.Join(stateElsewhere(&local), "; and "))
}

// stateElsewhere returns the ways to keep each kind of local state outside of the pods.
func stateElsewhere(local *serverconfig.LocalState) []string {
	var ways []string
	if len(local.Backends) > 0 {
		ways = append(ways, "keep the storage backends in databases: set spec.storage")
	}
	for _, api := range []parse.ProviderAPI{parse.APIVectorIO, parse.APIOf("files")} {
		var ids []string
		for _, p := range local.Providers {
			if p.API == api.Name {
				ids = append(ids, p.ID)
			}
		}
		switch {
		case len(ids) == 0:
		case api == parse.APIVectorIO:
			ways = append(ways, "configure a remote provider with the id "+strings.Join(ids, " and one with ")+" in "+
				"spec.providers."+api.Field)
		default: // the API has one provider
			ways = append(ways, "configure a remote provider in spec.providers."+api.Field)
		}
	}
	return ways
}

// warnWorkersWithStores warns of vector stores in the memory or the files of a process, if there are several.
func (d *Desired) warnWorkersWithStores(in *Inputs) {
	w := in.CR.Spec.Workload
	ownProgram := w.Overrides != nil && len(w.Overrides.Command) > 0
	if ptr.Deref(w.Workers, 1) < 2 || d.Config == nil || ownProgram {
		return
	}
	var stores []string
	for _, p := range d.Config.LocalState.Providers {
		if p.API == parse.APIVectorIO.Name {
			stores = append(stores, p.ID)
		}
	}
	if len(stores) == 0 {
		return
	}
	d.problems.warn(problem.EphemeralState, pathWorkers,
		"each worker is a process that does not find the vectors of another one, or cannot open its files: "+
			limits.Names(stores),
		"use one worker; configure a remote provider with the same id in spec.providers.vectorIo; or disable vectorIo in "+
			"spec.disabled if you use no vector stores")
}

// onlyWorkersNeedConfig reports whether spec.workload.workers is the only field that needs a generated configuration.
func onlyWorkersNeedConfig(in *Inputs) bool {
	w := in.CR.Spec.Workload
	if w == nil || w.Workers == nil {
		return false
	}
	withoutWorkers, workload := in.CR.Spec, *w
	workload.Workers = nil
	withoutWorkers.Workload = &workload
	return !serverconfig.Needed(&withoutWorkers, in.distribution().Line) && !in.distribution().ForeignImage
}

// workersIgnored reports whether the server runs without a configuration for spec.workload.workers, as in release 0.9.
func workersIgnored(in *Inputs) bool {
	return onlyWorkersNeedConfig(in) && (*in.CR.Spec.Workload.Workers < 2 || in.Legacy.FromV1alpha1)
}

// workersNeedBase returns the problem of spec.workload.workers without a base; base is the reason.
func workersNeedBase(base *problem.Problem, workers int32) *problem.Problem {
	p := *base
	p.Path, p.Value = pathWorkers, workers
	p.Detail = "more than one worker needs a generated configuration: remove the field, or fix this: " + base.Detail
	return &p
}

// checkWorkers warns of a number of workers that does not reach the server.
func (d *Desired) checkWorkers(in *Inputs) {
	workers := ptr.Deref(in.CR.Spec.Workload.Workers, 1)
	if workers < 2 || d.Config != nil || usesVariable(in.CR.Spec.Workload.Overrides, objects.LegacyWorkersVariable) {
		return
	}
	switch {
	case d.Override != nil && string(d.OverrideContent) != secret.OnCluster:
		if d.Override.Workers == strconv.Itoa(int(workers)) {
			return
		}
		detail := "has no effect with spec.overrideConfig, whose configuration decides"
		fix := fmt.Sprintf("write workers: %d under server: in the key %q of ConfigMap %s, or remove the field", workers,
			names.ConfigKey,
			in.CR.Spec.OverrideConfig.ConfigMapName)
		d.problems.warn(problem.NoEffect, pathWorkers, detail, fix)
	case d.Override == nil && missingBase(d.Distribution) != nil && workersIgnored(in):
		d.problems.warn(problem.NoEffect, pathWorkers,
			"has no effect: image "+d.Distribution.Image+" runs its own configuration, and no base configuration is known for "+
				"it",
			fmt.Sprintf("set the configuration in spec.overrideConfig and set workers: %d under server: there, or register "+
				"the image with its base configuration in the operator's ConfigMap %s", workers, settings.ConfigMapName))
	}
}

// warnLegacyVariables warns of a command with variables of release 0.9, which only custom resources of v1alpha1 have.
func (d *Desired) warnLegacyVariables(in *Inputs) {
	overrides := in.CR.Spec.Workload.Overrides
	for _, v := range []struct{ name, instead string }{
		{objects.LegacyPortVariable, "use $" + portVariables(d.Distribution.Line)[0]},
		{objects.LegacyWorkersVariable, fmt.Sprintf("use the number itself, %d",
			ptr.Deref(in.CR.Spec.Workload.Workers, 1))},
		{objects.LegacyConfigVariable, "use $RUN_CONFIG_PATH, which is set if the operator mounts a configuration"},
	} {
		if usesVariable(overrides, v.name) {
			d.problems.warn(problem.NoEffect, "spec.workload.overrides",
				"the command or its arguments use the variable "+v.name+", which only custom resources of v1alpha1 have",
				v.instead+", or set it in spec.workload.overrides.env")
		}
	}
}

// usesVariable reports whether the command or its arguments refer to a variable that the user does not set.
func usesVariable(o *v1alpha2.WorkloadOverrides, name string) bool {
	if o == nil || slices.ContainsFunc(o.Env, func(v corev1.EnvVar) bool { return v.Name == name }) {
		return false
	}
	// Shell or Kubernetes syntax; a shell default, as in ${NAME:-8321}, needs no variable.
	reference := regexp.MustCompile(`\$(\{` + name + `\}|\(` + name + `\)|` + name + `\b)`)
	return reference.MatchString(strings.Join(o.Command, "\n") + "\n" + strings.Join(o.Args, "\n"))
}

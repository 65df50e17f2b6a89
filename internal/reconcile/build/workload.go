// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

func (r *report) invalidField(at string, value any, detail, fix string) {
	r.Add(problem.Problem{Reason: problem.InvalidField, Path: at, Type: field.ErrorTypeInvalid, Value: value,
		Detail: detail, Fix: fix})
}

// checkWorkload reports invalid fields of spec.workload, and warns of surprising effects.
func (r *report) checkWorkload(in *Inputs) {
	spec := &in.CR.Spec
	if spec.Workload == nil {
		return
	}
	if n := objects.CPUForWorkers(spec); n > 0 {
		r.warn(problem.NoEffect, "spec.workload.workers", fmt.Sprintf("each pod requests %d CPU, one for each worker", n),
			"set spec.workload.resources.requests.cpu to request another amount")
	}
	r.checkSize(spec.Workload)
	r.checkAutoscaling(spec)
	r.checkBudget(spec)
	r.checkStorage(in)
	r.checkModelCache(in)
}

// checkSize rejects a workload larger than any pod template; for v1alpha1 no webhook does.
func (r *report) checkSize(workload *v1alpha2.WorkloadSpec) {
	text, err := json.Marshal(workload)
	if err != nil {
		return // every decoded value can be encoded
	}
	limitsValue := limits.Limits{Bytes: len(text), Levels: limits.ObjectLevels, Nodes: limits.SpecNodes}
	if _, excess := limits.Scan(text, limitsValue); excess != nil {
		r.Add(problem.Problem{
			Reason: problem.TooLarge, Path: "spec.workload", Type: field.ErrorTypeInvalid,
			Detail: fmt.Sprintf("must have at most %d values", limits.SpecNodes), Fix: "remove some",
		})
	}
}

// checkItems applies the list bounds of v1alpha2's schema to v1alpha1 resources and unchanged fields as well.
func (r *report) checkItems(in *Inputs) {
	spec := &in.CR.Spec
	if n := spec.Networking; n != nil && n.AllowedFrom != nil {
		r.checkCount("spec.networking.allowedFrom.namespaces", len(n.AllowedFrom.Namespaces), limits.Items)
		r.checkCount("spec.networking.allowedFrom.labels", len(n.AllowedFrom.Labels), limits.Items)
	}
	if spec.Workload == nil {
		return
	}
	r.checkCount("spec.workload.topologySpreadConstraints", len(spec.Workload.TopologySpreadConstraints), limits.Items)
	o := spec.Workload.Overrides
	if o == nil {
		return
	}
	if !in.Legacy.FromV1alpha1 { // release 0.9 did not limit the number of variables
		r.checkCount("spec.workload.overrides.env", len(o.Env), limits.EnvironmentEntries)
	}
	r.checkCount("spec.workload.overrides.command", len(o.Command), limits.Items)
	r.checkCount("spec.workload.overrides.args", len(o.Args), limits.Items)
	r.checkCount("spec.workload.overrides.volumes", len(o.Volumes), limits.Items)
	r.checkCount("spec.workload.overrides.volumeMounts", len(o.VolumeMounts), limits.Items)
	r.checkCount("spec.workload.overrides.sidecars", len(o.Sidecars), limits.Containers)
	r.checkCount("spec.workload.overrides.initContainers", len(o.InitContainers), limits.Containers)
}

func (r *report) checkCount(at string, count, limit int) {
	if count > limit {
		r.Add(problem.Problem{
			Reason: problem.TooLarge, Path: at, Type: field.ErrorTypeTooMany, Value: count,
			Detail: fmt.Sprintf("must have at most %d items", limit), Fix: "remove some",
		})
	}
}

func (r *report) checkAutoscaling(spec *v1alpha2.LlamaStackDistributionSpec) {
	const base = "spec.workload.autoscaling"
	a := objects.Autoscaling(spec)
	if a == nil {
		return
	}
	_, _, problems := objects.CustomMetrics(a)
	r.AddAll(problems)
	minPods, maxPods := objects.PodRange(spec)
	switch {
	case maxPods < 1:
		r.Add(problem.Problem{
			Reason: problem.MissingField, Path: base + ".maxReplicas", Type: field.ErrorTypeRequired, Detail: "at least 1",
			Fix: "set the largest number of pods, or remove " + base,
		})
	case minPods > maxPods:
		r.invalidField(base+".maxReplicas", maxPods, fmt.Sprintf("is below the smallest number of pods, %d, the larger of "+
			"spec.workload.replicas and %s.minReplicas", minPods, base), "raise it, or lower those")
	}
	for _, target := range []struct {
		name    string
		percent *int32
	}{
		{"targetCPUUtilizationPercentage", a.TargetCPUUtilizationPercentage},
		{"targetMemoryUtilizationPercentage", a.TargetMemoryUtilizationPercentage},
	} {
		if p := target.percent; p != nil && *p < 1 {
			r.invalidField(base+"."+target.name, *p, "must be a percentage of the requests, at least 1", "")
		}
	}
}

// checkBudget warns of budgets that allow no disruptions, so that draining a node would wait forever.
func (r *report) checkBudget(spec *v1alpha2.LlamaStackDistributionSpec) {
	const base = "spec.workload.podDisruptionBudget"
	b := spec.Workload.PodDisruptionBudget
	if b == nil {
		return
	}
	if b.MinAvailable != nil && b.MaxUnavailable != nil {
		r.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: base, Type: field.ErrorTypeForbidden, Detail: "minAvailable and " +
				"maxUnavailable exclude each other",
			Fix: "keep one of them",
		})
		return
	}
	minPods, _ := objects.PodRange(spec)
	blocks := ""
	switch {
	case b.MinAvailable != nil && (*b.MinAvailable == intstr.FromString("100%") ||
		b.MinAvailable.Type == intstr.Int && b.MinAvailable.IntVal >= minPods && minPods > 0):
		blocks = ".minAvailable"
	case b.MaxUnavailable != nil && (*b.MaxUnavailable == intstr.FromString("0%") ||
		*b.MaxUnavailable == intstr.FromInt32(0)):
		blocks = ".maxUnavailable"
	}
	if blocks != "" {
		r.warn(problem.NoEffect, base+blocks, fmt.Sprintf("allows no disruptions with %d replicas: a node with one of the "+
			"pods cannot be drained", minPods),
			"use maxUnavailable: 1, or more replicas")
	}
}

// checkVolume checks the mount path and size of the PVC.
func (r *report) checkVolume(s *v1alpha2.PVCStorageSpec, legacy *v1alpha2.LegacySettings) {
	if at := ptr.Deref(s.MountPath, ""); at != "" && !validation.IsDataDir(at) {
		r.invalidField(pathStorage+".mountPath", at, "must be "+validation.DataDirs, "for example "+
			v1alpha2.DefaultMountPath)
	}
	if s.Size != nil && (s.Size.Sign() < 0 || s.Size.IsZero() && !legacy.FromV1alpha1) {
		r.invalidField(pathStorage+".size", s.Size.String(), "must be a positive size", "for example 20Gi")
	}
}

// withMountPath returns the inputs with the mount path of the registered distribution for a PVC without one.
func (in *Inputs) withMountPath() *Inputs {
	w, at := in.CR.Spec.Workload, in.distribution().MountPath
	if at == "" || w == nil || w.Storage == nil || ptr.Deref(w.Storage.MountPath, "") != "" {
		return in
	}
	completed, cr, spec, workload, storage := *in, *in.CR, *in.Spec, *w, *w.Storage
	storage.MountPath, workload.Storage, cr.Spec.Workload = &at, &storage, &workload
	spec.Source = &cr.Spec
	completed.CR, completed.Spec = &cr, &spec
	return &completed
}

// checkDataDir reports a mount path that collides with a volume of the operator.
func (r *report) checkDataDir(p *objects.Params) {
	dir := objects.DataDir(&p.CR.Spec)
	if conflict := objects.DataDirConflict(p); conflict != "" && validation.IsDataDir(dir) {
		r.invalidField("spec.workload.storage.mountPath", dir, "the operator mounts a volume of its own at "+conflict, "for "+
			"example "+v1alpha2.DefaultMountPath)
	}
}

// checkOverrides reports overrides that replace the operator's parts; it only warns for v1alpha1 and non-essential
// parts.
func (r *report) checkOverrides(p *objects.Params, dist *settings.Distribution) {
	ports := r.warnPortVariables(p, dist)
	for _, conflict := range objects.Conflicts(p) {
		if slices.Contains(ports, conflict.Path) {
			continue
		}
		if conflict.Essential && !p.Legacy.FromV1alpha1 {
			r.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: conflict.Path, Type: field.ErrorTypeForbidden,
				Detail: conflict.Description + " is reserved by the operator for this custom resource",
				Fix:    "choose another one, or remove it",
			})
			continue
		}
		r.warn(problem.ConflictingFields, conflict.Path, conflict.Description+" replaces the operator's own", "remove it "+
			"if this is not intended")
	}
}

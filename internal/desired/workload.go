// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func wrongField(field, message string) *fault.Fault {
	return &fault.Fault{
		Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSpec, Message: field + ": " + message,
	}
}

// checkWorkload reports what cannot become objects, and warns of what will work otherwise than its author may think.
func (d *Desired) checkWorkload(spec *v1alpha2.LlamaStackDistributionSpec, fromV1alpha1 bool) fault.List {
	if spec.Workload == nil {
		return nil
	}
	if n := objects.CPUForWorkers(spec); n > 0 {
		d.warn("spec.workload.workers", fmt.Sprintf("each pod requests %d CPU, one for each worker", n),
			"set spec.workload.resources.requests.cpu where another amount is right")
	}
	faults := append(checkEnvironment(spec, fromV1alpha1), checkAutoscaling(spec)...)
	faults = append(faults, d.checkBudget(spec)...)
	return append(faults, d.checkStorage(spec)...)
}

// checkEnvironment says what the schema of v1alpha2 says. The API server does not apply that to what stays as it is, and v1alpha1 has no
// such bound: release 0.9 took any number.
func checkEnvironment(spec *v1alpha2.LlamaStackDistributionSpec, fromV1alpha1 bool) fault.List {
	if spec.Workload.Overrides == nil || fromV1alpha1 || len(spec.Workload.Overrides.Env) <= bounds.EnvironmentEntries {
		return nil
	}
	return fault.List{wrongField("spec.workload.overrides.env", fmt.Sprintf("Too many: %d: must have at most %d items: "+
		"remove some", len(spec.Workload.Overrides.Env), bounds.EnvironmentEntries))}
}

func checkAutoscaling(spec *v1alpha2.LlamaStackDistributionSpec) fault.List {
	const field = "spec.workload.autoscaling"
	a := objects.Autoscaling(spec)
	if a == nil {
		return nil
	}
	var faults fault.List
	least, most := objects.PodRange(spec)
	switch {
	case most < 1:
		faults = append(faults, wrongField(field+".maxReplicas", "Required value: at least 1: the largest number of pods, or remove "+field))
	case least > most:
		faults = append(faults, wrongField(field+".maxReplicas", fmt.Sprintf("Invalid value: %d is below the least number of pods, %d, "+
			"which is the larger of spec.workload.replicas and %s.minReplicas: raise it, or lower those", most, least, field)))
	}
	for _, target := range []struct {
		name    string
		percent *int32
	}{
		{"targetCPUUtilizationPercentage", a.TargetCPUUtilizationPercentage},
		{"targetMemoryUtilizationPercentage", a.TargetMemoryUtilizationPercentage},
	} {
		if p := target.percent; p != nil && *p < 1 {
			faults = append(faults, wrongField(field+"."+target.name, fmt.Sprintf("Invalid value: %d: want a percentage of the requests, at least 1", *p)))
		}
	}
	return faults
}

// checkBudget warns of budgets that let no pod go: draining a node would wait for ever.
func (d *Desired) checkBudget(spec *v1alpha2.LlamaStackDistributionSpec) fault.List {
	const field = "spec.workload.podDisruptionBudget"
	b := spec.Workload.PodDisruptionBudget
	if b == nil {
		return nil
	}
	if b.MinAvailable != nil && b.MaxUnavailable != nil {
		return fault.List{wrongField(field, "minAvailable and maxUnavailable exclude each other: keep one of them")}
	}
	least, _ := objects.PodRange(spec)
	blocks := ""
	switch {
	case b.MinAvailable != nil && (*b.MinAvailable == intstr.FromString("100%") ||
		b.MinAvailable.Type == intstr.Int && b.MinAvailable.IntVal >= least && least > 0):
		blocks = ".minAvailable"
	case b.MaxUnavailable != nil && (*b.MaxUnavailable == intstr.FromString("0%") || *b.MaxUnavailable == intstr.FromInt32(0)):
		blocks = ".maxUnavailable"
	}
	if blocks != "" {
		d.warn(field+blocks, fmt.Sprintf("lets no pod go while there are %d: a node with one of them cannot be drained", least),
			"use maxUnavailable: 1, or more replicas")
	}
	return nil
}

func (d *Desired) checkStorage(spec *v1alpha2.LlamaStackDistributionSpec) fault.List {
	const field = "spec.workload.storage"
	s := spec.Workload.Storage
	if s == nil {
		return nil
	}
	var faults fault.List
	if at := ptr.Deref(s.MountPath, ""); at != "" && (!path.IsAbs(at) || strings.Contains(at, ":") || path.Clean(at) == "/" ||
		path.Clean(at) == objects.ConfigDir || path.Clean(at) == objects.TmpDir) {
		faults = append(faults, wrongField(field+".mountPath", fmt.Sprintf("Invalid value: want an absolute path that is neither / nor %s nor %s, such as %s",
			objects.ConfigDir, objects.TmpDir, objects.DefaultDataDir)))
	}
	if s.Size != nil && s.Size.Sign() < 0 {
		faults = append(faults, wrongField(field+".size", "Invalid value: want a positive size, such as 20Gi"))
	}
	if _, most := objects.PodRange(spec); most > 1 {
		d.warn(field, "the claim can be mounted by one node at a time: pods on other nodes do not start, and an edit stops all pods before it starts new ones",
			"use one replica, or keep the state in spec.storage and remove it")
	}
	return faults
}

// checkOverrides reports overrides that take away what the server needs. In a resource of v1alpha1, which knows no such rule,
// and for what is only a choice of the operator's, that is a warning.
func (d *Desired) checkOverrides(p *objects.Params) fault.List {
	var faults fault.List
	for _, clash := range objects.Clashes(p) {
		if clash.Essential && !p.Legacy.FromV1alpha1 {
			faults = append(faults, wrongField(clash.Path, clash.What+" is the operator's own for this resource: choose another one, or remove it"))
			continue
		}
		d.warn(clash.Path, clash.What+" takes the place of the operator's own", "remove it where that is not what you want")
	}
	return faults
}

// PathAllowedFrom is the field that asks for a NetworkPolicy.
const PathAllowedFrom = "spec.networking.allowedFrom"

// networkPolicy tells whether a NetworkPolicy is wanted. Release 0.9 has a flag for that, which is off by itself: a resource that
// was written for it must not be cut off by an upgrade.
func (d *Desired) networkPolicy(in *Inputs, legacy *v1alpha2.LegacySettings) bool {
	asked := objects.AllowedFrom(&in.CR.Spec) != nil
	switch {
	case ptr.Deref(in.NetworkPolicyFlag, false):
		return true
	case asked && legacy.FromV1alpha1:
		d.warn(PathAllowedFrom, "has no effect: the feature flag enableNetworkPolicy is not on, which a resource that was created in v1alpha1 needs: "+
			"everybody in the cluster may reach the server", fmt.Sprintf("set %s in the ConfigMap %s, or write the resource in v1alpha2 and remove the "+
			"annotation %s from it", settings.KeyFeatureFlags, settings.ConfigMapName, v1alpha2.ConversionAnnotation))
		return false
	}
	if asked && objects.Expose(&in.CR.Spec).Enabled && !in.ClusterAssignsUserIDs {
		d.warn(PathAllowedFrom, "keeps the ingress controller out unless its namespace is among the allowed ones",
			"name the namespace of the ingress controller")
	}
	return asked
}

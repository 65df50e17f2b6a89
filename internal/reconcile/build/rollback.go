// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// formerInputs returns the hash of the inputs of the last Deployment before this one whose pods were available, or "".
func formerInputs(live *appsv1.Deployment, current string) string {
	if live == nil {
		return ""
	}
	last := live.Annotations[names.AnnotationInputHash]
	if last == current || !isComplete(live) {
		return live.Annotations[names.AnnotationFormerInputs]
	}
	return last
}

// isComplete reports whether all pods have the current template, and some are available.
func isComplete(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.AvailableReplicas > 0 && s.UpdatedReplicas == s.Replicas
}

// IsHeld reports whether the running configuration and pod template are those of other inputs or another build.
func (d *Desired) IsHeld() bool { return d.HeldBuild != "" || d.RolledBack != "" }

// ReplacesOnlyPod reports whether a new pod template stops all pods before a new one starts.
func (d *Desired) ReplacesOnlyPod() bool {
	o := cmp.Or(deploymentIn(d.Objects), deploymentIn(d.Held))
	return o != nil && o.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && ptr.Deref(o.Spec.Replicas, 1) > 0
}

// MayRollBack reports whether the pods of a Deployment with the desired template could be replaced by those of the
// former one: none is available, and none runs beside them.
func (d *Desired) MayRollBack(spec *v1alpha2.LlamaStackDistributionSpec, live *appsv1.Deployment) bool {
	if w := spec.Workload; d.IsHeld() || live == nil || w != nil && ptr.Deref(w.Rollback, "") == v1alpha2.RollbackNever {
		return false
	}
	s, former := live.Status, live.Annotations[names.AnnotationFormerInputs]
	return live.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType &&
		live.Annotations[names.AnnotationInputHash] == d.InputHash && former != "" && former != d.InputHash &&
		ptr.Deref(live.Spec.Replicas, 1) > 0 && s.ObservedGeneration >= live.Generation &&
		s.AvailableReplicas == 0 && s.UpdatedReplicas == s.Replicas
}

// Rollback returns the Deployment with the pod template of its former ReplicaSet, and records why.
func (d *Desired) Rollback(former *appsv1.ReplicaSet, cause string) *appsv1.Deployment {
	rolledBack := deploymentIn(d.Objects).DeepCopy()
	if rolledBack == nil {
		return nil
	}
	former.Spec.Template.DeepCopyInto(&rolledBack.Spec.Template)
	delete(rolledBack.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	for _, key := range []string{
		names.AnnotationInputHash, names.AnnotationBuild, names.AnnotationServerLine, names.AnnotationAdoptedImage,
		names.AnnotationAdoptedName,
	} {
		delete(rolledBack.Annotations, key)
		if value, found := former.Annotations[key]; found {
			rolledBack.Annotations[key] = value
		}
	}
	maps.Copy(rolledBack.Annotations, map[string]string{
		names.AnnotationFormerInputs: former.Annotations[names.AnnotationInputHash],
		names.AnnotationRolledBack:   d.InputHash, names.AnnotationRollbackCause: cause,
	})
	return rolledBack
}

// SameLine reports whether two objects with a pod template run the same release line, so that the server of one can
// read the state that the server of the other left.
func SameLine(current, former *appsv1.ReplicaSet) bool {
	line := current.Annotations[names.AnnotationServerLine]
	if line != "" {
		return former.Annotations[names.AnnotationServerLine] == line
	}
	return serverImage(current) == serverImage(former)
}

func serverImage(rs *appsv1.ReplicaSet) string {
	if containers := rs.Spec.Template.Spec.Containers; len(containers) > 0 {
		return containers[0].Image // the server's container is the first one
	}
	return ""
}

// DiffersInPlacement reports whether two pods differ in what decides about their node, volumes and network.
func DiffersInPlacement(resource string, a, b *corev1.PodSpec) bool {
	return !equality.Semantic.DeepEqual(placement(resource, a), placement(resource, b))
}

// placement returns a pod without what runs in it, and without the names of generated objects.
func placement(resource string, pod *corev1.PodSpec) *corev1.PodSpec {
	p, generated := pod.DeepCopy(), objects.GeneratedFor(resource, pod)
	for _, list := range [][]corev1.Container{p.InitContainers, p.Containers} {
		for i := range list {
			list[i] = corev1.Container{Name: list[i].Name, Resources: list[i].Resources, Ports: list[i].Ports}
		}
	}
	for i := range p.Volumes {
		if c := p.Volumes[i].ConfigMap; c != nil && generated.Has("ConfigMap", c.Name) {
			c.Name = ""
		}
	}
	return p
}

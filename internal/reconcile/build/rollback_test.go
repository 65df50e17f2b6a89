// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// edited returns the inputs of a server with a PVC whose command was edited while it was available, the Deployment
// before the edit, and its ReplicaSet.
func edited(t *testing.T) (*Inputs, *appsv1.Deployment, *appsv1.ReplicaSet) {
	t.Helper()
	in := inputs(t, "simple")
	in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: &v1alpha2.PVCStorageSpec{}}
	former := deployment(t, build(t, in).Objects)
	former.Status = appsv1.DeploymentStatus{AvailableReplicas: 1, Replicas: 1, UpdatedReplicas: 1}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "former", Annotations: former.Annotations},
		Spec:       appsv1.ReplicaSetSpec{Template: *former.Spec.Template.DeepCopy()},
	}
	rs.Spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "4711"
	in.Live = former
	in.CR.Spec.Workload.Overrides = &v1alpha2.WorkloadOverrides{Command: []string{"servr"}}
	return in, former, rs
}

// Proves: R94 (the former template returns, its inputs outlive several edits, the failed one is not tried again, and another bad
// edit returns to the same template).
func TestRollbackReturnsToTheFormerTemplate(t *testing.T) {
	in, former, rs := edited(t)
	first := deployment(t, build(t, in).Objects)
	if got, want := first.Annotations[names.AnnotationFormerInputs], former.Annotations[names.AnnotationInputHash]; got != want {
		t.Errorf("the former inputs are %q, want %q", got, want)
	}
	in.Live = first
	in.CR.Spec.Workload.Overrides.Args = []string{"again"}
	d := build(t, in)
	second := deployment(t, d.Objects)
	if diff := cmp.Diff(first.Annotations[names.AnnotationFormerInputs], second.Annotations[names.AnnotationFormerInputs]); diff != "" {
		t.Errorf("the former inputs after another edit:\n%s", diff)
	}
	second.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}
	if !d.MayRollBack(&in.CR.Spec, second) {
		t.Error("no rollback")
	}

	back := d.Rollback(rs, "no such command")
	if diff := cmp.Diff(former.Spec.Template, back.Spec.Template); diff != "" {
		t.Errorf("the template (-want +got):\n%s", diff)
	}
	in.Live = back
	held := build(t, in)
	if held.RolledBack != "no such command" || len(held.Held) == 0 || len(objectsOf[*appsv1.Deployment](held.Objects)) > 0 {
		t.Errorf("rolled back %q, held %v, applied %v", held.RolledBack, kinds(held.Held), kinds(held.Objects))
	}
	if want := objects.MountedConfigMap(&former.Spec.Template.Spec); held.ConfigMapName != want {
		t.Errorf("the configuration is %s, want %s", held.ConfigMapName, want)
	}
	if held.MayRollBack(&in.CR.Spec, back) {
		t.Error("a rollback of the rollback")
	}
	own := in.Build
	in.Build = "another build"
	if again := build(t, in); again.RolledBack == "" {
		t.Error("another operator build tries the failed template again")
	}
	in.Build = own

	back.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	in.CR.Spec.Workload.Overrides.Command = []string{"another-typo"}
	next := deployment(t, build(t, in).Objects)
	if got, want := next.Annotations[names.AnnotationFormerInputs], former.Annotations[names.AnnotationInputHash]; got != want {
		t.Errorf("after a rollback, the former inputs of another bad edit are %q, want %q", got, want)
	}

	in.CR.Spec.Workload.Overrides = nil
	fixed := build(t, in)
	if got := deployment(t, fixed.Objects).Annotations; fixed.RolledBack != "" || got[names.AnnotationRolledBack] != "" || got[names.AnnotationRollbackCause] != "" {
		t.Errorf("after an edit: rolled back %q, annotations %v", fixed.RolledBack, got)
	}
}

func objectsOf[T any](list []objects.Object) (found []T) {
	for _, o := range list {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// Proves: R94 (there is no rollback beside a running pod, of a first pod, during a rollout, or with Never).
func TestRollbackNeedsAFailedOnlyPod(t *testing.T) {
	for name, change := range map[string]func(*Inputs, *appsv1.Deployment){
		"a pod is available":       func(_ *Inputs, d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 },
		"an old pod is ending":     func(_ *Inputs, d *appsv1.Deployment) { d.Status.Replicas = 2 },
		"not observed yet":         func(_ *Inputs, d *appsv1.Deployment) { d.Generation = 1 },
		"scaled to zero":           func(_ *Inputs, d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) },
		"the first pod":            func(_ *Inputs, d *appsv1.Deployment) { delete(d.Annotations, names.AnnotationFormerInputs) },
		"the template is not ours": func(_ *Inputs, d *appsv1.Deployment) { d.Annotations[names.AnnotationInputHash] = "other" },
		"old pods run beside it": func(_ *Inputs, d *appsv1.Deployment) {
			d.Spec.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
		},
		"the user wants no rollback": func(in *Inputs, _ *appsv1.Deployment) { in.CR.Spec.Workload.Rollback = new(v1alpha2.RollbackNever) },
	} {
		in, _, _ := edited(t)
		d := build(t, in)
		live := deployment(t, d.Objects)
		live.Status = appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}
		if !d.MayRollBack(&in.CR.Spec, live) {
			t.Fatal("the rollout cannot be rolled back")
		}
		change(in, live)
		if d.MayRollBack(&in.CR.Spec, live) {
			t.Errorf("%s: rollback", name)
		}
	}
}

// Proves: R94 (a newer release may have changed the server's data).
func TestSameLineComparesReleaseLines(t *testing.T) {
	set := func(line, image string) *appsv1.ReplicaSet {
		rs := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Image: image}},
		}}}}
		if line != "" {
			rs.Annotations = map[string]string{names.AnnotationServerLine: line}
		}
		return rs
	}
	for _, c := range []struct {
		current, former *appsv1.ReplicaSet
		want            bool
	}{
		{set("1.5", "a"), set("1.5", "b"), true},
		{set("1.5", "a"), set("0.7", "a"), false},
		{set("1.5", "a"), set("", "a"), false},
		{set("", "a"), set("", "a"), true},
		{set("", "a"), set("", "b"), false},
	} {
		if got := SameLine(c.current, c.former); got != c.want {
			t.Errorf("%+v and %+v: %t", c.current, c.former, got)
		}
	}
}

// Proves: R94 (a full cluster or a slow volume is not the edit's fault).
func TestPlacementIsWithoutWhatRunsInThePod(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*v1alpha2.WorkloadSpec)
		differs bool
	}{
		"the same": {func(*v1alpha2.WorkloadSpec) {}, false},
		"command":  {func(w *v1alpha2.WorkloadSpec) { w.Overrides = &v1alpha2.WorkloadOverrides{Command: []string{"x"}} }, false},
		"workers":  {func(w *v1alpha2.WorkloadSpec) { w.Replicas = new(int32(2)) }, false},
		"memory": {func(w *v1alpha2.WorkloadSpec) {
			w.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("900Gi")}}
		}, true},
		"nodes": {func(w *v1alpha2.WorkloadSpec) {
			w.Scheduling = &v1alpha2.SchedulingSpec{NodeSelector: map[string]string{"gpu": "true"}}
		}, true},
		"volumes": {func(w *v1alpha2.WorkloadSpec) {
			w.Overrides = &v1alpha2.WorkloadOverrides{Volumes: []corev1.Volume{{Name: "nfs", VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "a", Path: "/"}}}}}
		}, true},
	} {
		in := inputs(t, "simple")
		in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: &v1alpha2.PVCStorageSpec{}}
		before := podSpecOf(build(t, in).Objects)
		in.CR.Spec.Resources.Models = nil // another configuration
		c.change(in.CR.Spec.Workload)
		now := podSpecOf(build(t, in).Objects)
		if got := DiffersInPlacement(in.CR.Name, before, now); got != c.differs {
			t.Errorf("%s: %t\n%s", name, got, cmp.Diff(before, now))
		}
	}
}

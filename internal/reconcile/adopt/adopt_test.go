// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// Proves: R21, L-04, L-31 (fields of others stay theirs, and a second run changes nothing).
func TestTakeoverKeepsForeignFields(t *testing.T) {
	others := []metav1.ManagedFieldsEntry{
		fakecluster.Entry("kubectl-edit", "Update", `{"f:metadata":{"f:labels":{"f:mine":{}}}}`, ""),
		fakecluster.Entry("kube-controller-manager", "Update", `{"f:status":{}}`, "status"),
		fakecluster.Entry("my-stack", "Update", `{"f:status":{}}`, "status"),
	}
	before := append([]metav1.ManagedFieldsEntry{
		fakecluster.Entry("manager", "Update", `{"f:spec":{"f:a":{},"f:b":{}}}`, ""),
		fakecluster.Entry("my-stack", "Apply", `{"f:spec":{"f:b":{},"f:c":{}}}`, ""),
		fakecluster.Entry(apply.FieldManager, "Apply", `{"f:spec":{"f:d":{}}}`, ""),
		fakecluster.Entry(apply.FieldManager, "Update", `{"f:spec":{"f:e":{}}}`, ""),
	}, others...)
	after, changed, err := mergeManagers(before, "my-stack")
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	want := append(append([]metav1.ManagedFieldsEntry{}, others...), fakecluster.Entry(apply.FieldManager, "Apply", `{"f:spec":{"f:a":{},"f:b":{},"f:c":{},"f:d":{},"f:e":{}}}`, ""))
	if diff := cmp.Diff(texts(want), texts(after)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if again, changed, err := mergeManagers(after, "my-stack"); err != nil || changed || !cmp.Equal(texts(after), texts(again)) {
		t.Errorf("again: changed %v, %v", changed, err)
	}
	if _, _, err := mergeManagers([]metav1.ManagedFieldsEntry{fakecluster.Entry("manager", "Update", `[]`, "")}, "my-stack"); err == nil {
		t.Error("what cannot be read is no error")
	}
}

// Proves: R21 (leftovers are adopted and removed even without release 0.9's Deployment, but nothing is looked up once
// the operator has one, and an unmounted PVC stays).
func TestAdopt(t *testing.T) {
	left := func() []client.Object {
		return []client.Object{
			fakecluster.Owned(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-rb"}}, "u1"),
			fakecluster.Owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-service"}}, "u1"),
			fakecluster.Owned(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-pvc"}}, ""),
		}
	}
	made := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationBuild: "1.0.0"}}}
	adopted := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationBuild: release09.Build}}}
	reported := func(condition string) v1alpha2.LlamaStackDistributionStatus {
		return v1alpha2.LlamaStackDistributionStatus{Phase: "Ready", Conditions: []metav1.Condition{{Type: condition}}}
	}
	for name, c := range map[string]struct {
		live    *appsv1.Deployment
		status  v1alpha2.LlamaStackDistributionStatus
		deleted string
	}{
		"as release 0.9 left it": {&appsv1.Deployment{}, v1alpha2.LlamaStackDistributionStatus{}, "[RoleBinding/my-stack-rb]"},
		"gone":                   {nil, reported("DeploymentReady"), "[RoleBinding/my-stack-rb]"},
		"new":                    {nil, v1alpha2.LlamaStackDistributionStatus{}, "[]"},
		"gone later":             {nil, reported(v1alpha2.ConditionReady), "[]"},
		"adopted, and edited":    {adopted, v1alpha2.LlamaStackDistributionStatus{}, "[RoleBinding/my-stack-rb]"},
		"the operator's own":     {made, v1alpha2.LlamaStackDistributionStatus{}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fakecluster.New(t, left()...)
			owner := fakecluster.Owner()
			owner.Status = c.status
			if f := adopter(cluster).Adopt(t.Context(), owner, c.live, fakecluster.Desired("a: b\n")); f != nil {
				t.Fatal(f)
			}
			if got := fakecluster.Sorted(cluster.Deleted); got != c.deleted {
				t.Errorf("deleted %s, want %s", got, c.deleted)
			}
			claim := &corev1.PersistentVolumeClaim{}
			if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "ai", Name: "my-stack-pvc"}, claim); err != nil || len(claim.OwnerReferences) > 0 {
				t.Errorf("the claim belongs to %v, %v", claim.OwnerReferences, err)
			}
		})
	}
}

// Proves: R101 (a mounted PVC without owner is used, and gets no owner, so that it is never deleted).
func TestAdoptedPVCGetsNoOwner(t *testing.T) {
	claim := fakecluster.Owned(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-pvc"}}, "")
	cluster, owner := fakecluster.New(t, claim), fakecluster.Owner()
	live := orphan(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "lls-storage", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "my-stack-pvc"},
		}}}
	})
	if f := adopter(cluster).Adopt(t.Context(), owner, live, fakecluster.Desired("a: b\n")); f != nil {
		t.Fatal(f)
	}
	adopted := &corev1.PersistentVolumeClaim{}
	err := cluster.Get(t.Context(), client.ObjectKey{Namespace: "ai", Name: "my-stack-pvc"}, adopted)
	if err != nil || len(adopted.OwnerReferences) > 0 || adopted.Annotations[names.AnnotationAdoptedBy] != "my-stack" {
		t.Errorf("the PVC is %+v, %v", adopted.ObjectMeta, err)
	}
}

// orphan returns a Deployment of release 0.9 without an owner.
func orphan(change func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ai", Name: "my-stack", UID: "d", Labels: map[string]string{names.LabelManagedBy: names.ManagedBy},
		ManagedFields: []metav1.ManagedFieldsEntry{fakecluster.Entry("manager", "Update", `{"f:spec":{"f:template":{"f:spec":{"f:dnsPolicy":{}}}}}`, "")},
	}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: names.Selector("my-stack")}
	if change != nil {
		change(d)
	}
	return d
}

// Proves: R78, L-08 (name, label, selector and field managers identify release 0.9's Deployment; an object of another
// owner blocks all writes, and no message advises to remove it).
func TestAdoptIsAllOrNothing(t *testing.T) {
	service := func(o client.Object) client.Object {
		o.SetManagedFields([]metav1.ManagedFieldsEntry{fakecluster.Entry("my-stack", "Apply", `{"f:spec":{"f:type":{}}}`, "")})
		return o
	}
	ours := service(fakecluster.Owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-service"}}, "u1"))
	theirs := fakecluster.Owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-service"}}, "")
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		service    client.Object
		conflict   string
	}{
		"release 0.9's":    {orphan(nil), ours, ""},
		"another selector": {orphan(func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels["app"] = "web" }), ours, "Deployment my-stack: exists"},
		"another writer":   {orphan(func(d *appsv1.Deployment) { d.ManagedFields[0].Manager = "kubectl" }), ours, "Deployment my-stack: exists"},
		"no label":         {orphan(func(d *appsv1.Deployment) { d.Labels = nil }), ours, "Deployment my-stack: exists"},
		"another controller": {orphan(func(d *appsv1.Deployment) {
			d.OwnerReferences = []metav1.OwnerReference{{Kind: "Rollout", Name: "theirs", UID: "x", Controller: new(true)}}
		}), ours, "Deployment my-stack: exists and is controlled by Rollout theirs"},
		"another owner's Service": {orphan(nil), theirs, "Service my-stack-service: exists"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fakecluster.New(t, c.deployment, c.service)
			f := adopter(cluster).Adopt(t.Context(), fakecluster.Owner(), c.deployment, fakecluster.Desired("a: b\n"))
			if c.conflict != "" {
				if f == nil || f.Reason != problem.Conflict || !strings.HasPrefix(f.String(), c.conflict) || strings.Contains(f.String(), "remove it") {
					t.Errorf("fault %+v", f)
				}
				if len(cluster.Patched)+len(cluster.Deleted)+len(cluster.Applied) > 0 {
					t.Errorf("written are %v %v %v", cluster.Patched, cluster.Deleted, cluster.Applied)
				}
				return
			}
			if f != nil {
				t.Fatal(f)
			}
			d := &appsv1.Deployment{}
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(c.deployment), d); err != nil || !metav1.IsControlledBy(d, fakecluster.Owner()) ||
				release09.Owns(d, "my-stack") {
				t.Errorf("the Deployment: %v, %+v", err, d.ObjectMeta)
			}
			if last := cluster.Patched[len(cluster.Patched)-1]; last != "Deployment/my-stack" || cluster.Patched[0] != "Service/my-stack-service" {
				t.Errorf("written are %v: the Deployment must be adopted last", cluster.Patched)
			}
		})
	}
}

// Proves: R89 (the Deployment gets only owner, labels and annotations, and its pods keep the objects that they need).
func TestAdoptKeepsThePodTemplate(t *testing.T) {
	live := orphan(func(d *appsv1.Deployment) {
		d.Labels["team"], d.Annotations = "a", map[string]string{"note": "mine"}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "llama-stack", Image: "old:1"}}
	})
	binding := fakecluster.Owned(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-rb"}}, "u1")
	cluster := fakecluster.New(t, live, binding)
	wanted := fakecluster.Desired("a: b\n")
	wanted[2].(*appsv1.Deployment).Annotations = map[string]string{names.AnnotationBuild: release09.Build, names.AnnotationInputHash: "x"}
	wanted[2].(*appsv1.Deployment).Labels = map[string]string{names.LabelInstance: "my-stack"}
	for range 2 { // the second run changes nothing
		if f := adopter(cluster).Adopt(t.Context(), fakecluster.Owner(), live, wanted); f != nil {
			t.Fatal(f)
		}
		d := &appsv1.Deployment{}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(live), d); err != nil {
			t.Fatal(err)
		}
		if release09.IsUnadopted(d) || !release09.KeepsTemplate(d) || !metav1.IsControlledBy(d, fakecluster.Owner()) {
			t.Errorf("it is not adopted: %+v", d.ObjectMeta)
		}
		annotations := map[string]string{"note": "mine", names.AnnotationBuild: release09.Build, names.AnnotationInputHash: "x"}
		labels := map[string]string{"team": "a", names.LabelManagedBy: names.ManagedBy, names.LabelInstance: "my-stack"}
		if diff := cmp.Diff(annotations, d.Annotations) + cmp.Diff(labels, d.Labels); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(live.Spec, d.Spec); diff != "" {
			t.Errorf("the spec was changed (-before +after):\n%s", diff)
		}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
			t.Errorf("the pods need the RoleBinding: %v", err)
		}
		live = d
	}
	if len(cluster.Patched) > 2 {
		t.Errorf("patched are %v", cluster.Patched)
	}
}

// Proves: R78, R48 (field managers of any object show that release 0.9 ran again).
func TestAdoptAgain(t *testing.T) {
	made := orphan(func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{names.AnnotationBuild: "1.0.0", names.AnnotationInputHash: "x"}
		d.OwnerReferences = []metav1.OwnerReference{*names.ControllerRef(fakecluster.Owner())}
	})
	cluster := fakecluster.New(t, made)
	if f := adopter(cluster).Adopt(t.Context(), fakecluster.Owner(), made, fakecluster.Desired("a: b\n")); f != nil {
		t.Fatal(f)
	}
	d := &appsv1.Deployment{}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(made), d); err != nil {
		t.Fatal(err)
	}
	if _, found := d.Annotations[names.AnnotationBuild]; found || release09.Owns(d, "my-stack") || !release09.IsUnadopted(d) {
		t.Errorf("the Deployment is %+v", d.ObjectMeta)
	}

	// Only the Deployment was adopted; the Service shows that adoption is incomplete.
	settled := orphan(func(d *appsv1.Deployment) {
		d.Annotations, d.ManagedFields = map[string]string{names.AnnotationBuild: "1.0.0"}, nil
		d.OwnerReferences = []metav1.OwnerReference{*names.ControllerRef(fakecluster.Owner())}
	})
	service := fakecluster.Owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-service"}}, "u1")
	service.SetManagedFields([]metav1.ManagedFieldsEntry{fakecluster.Entry("my-stack", "Apply", `{"f:spec":{"f:type":{}}}`, "")})
	cluster = fakecluster.New(t, settled, service)
	if f := adopter(cluster).Adopt(t.Context(), fakecluster.Owner(), settled, fakecluster.Desired("a: b\n")); f != nil || len(cluster.Patched) != 1 || cluster.Patched[0] != "Service/my-stack-service" {
		t.Errorf("fault %v, written are %v", f, cluster.Patched)
	}
}

func texts(entries []metav1.ManagedFieldsEntry) []string {
	var list []string
	for i := range entries {
		e := &entries[i]
		list = append(list, strings.Join([]string{e.Manager, string(e.Operation), e.Subresource, e.FieldsV1.GetRawString()}, " "))
	}
	return list
}

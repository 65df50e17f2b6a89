// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

const canary = "sk-canary-7f3a"

// full returns metadata with every field set.
func full(managedBy string) metav1.ObjectMeta {
	yes, seconds := true, int64(30)
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return metav1.ObjectMeta{
		Name: "n", GenerateName: "g", Namespace: "ns", UID: "u", ResourceVersion: "7", Generation: 3,
		CreationTimestamp: at, DeletionTimestamp: &at, DeletionGracePeriodSeconds: &seconds,
		Labels: map[string]string{
			"app.kubernetes.io/managed-by": managedBy, "app": "llama-stack", "app.kubernetes.io/instance": "my-stack", "theirs": canary,
		},
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": canary},
		OwnerReferences: []metav1.OwnerReference{
			{Kind: "Other", Name: "other", UID: "o1"}, {Kind: "LlamaStackDistribution", Name: "my-stack", UID: "o2", Controller: &yes},
		},
		Finalizers:    []string{"f"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
	}
}

// Proves: R55, R7, L-01 (the cache strips Secrets and ConfigMaps of the operator and of others).
func TestStripMetadata(t *testing.T) {
	for name, c := range map[string]struct {
		managedBy string
		labels    map[string]string
	}{
		"our own": {"llama-stack-operator", map[string]string{
			"app.kubernetes.io/managed-by": "llama-stack-operator", "app": "llama-stack", "app.kubernetes.io/instance": "my-stack",
		}},
		"foreign": {"helm", nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := &metav1.PartialObjectMetadata{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: full(c.managedBy),
			}
			all := full(c.managedBy)
			want := &metav1.PartialObjectMetadata{TypeMeta: in.TypeMeta, ObjectMeta: metav1.ObjectMeta{
				Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "7",
				CreationTimestamp: all.CreationTimestamp, DeletionTimestamp: all.DeletionTimestamp,
				Labels: c.labels, OwnerReferences: all.OwnerReferences[1:],
			}}
			got, err := strip(in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(want), got); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

// The operator's full objects lose their managed fields; other objects stay unchanged.
func TestStripObjects(t *testing.T) {
	service := &corev1.Service{ObjectMeta: full("llama-stack-operator")}
	want := service.DeepCopy()
	want.ManagedFields = nil
	got, err := strip(service)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("error %v, kept (-want +got):\n%s", err, diff)
	}
	if got, err := strip("a tombstone"); got != "a tombstone" || err != nil {
		t.Errorf("%v %v", got, err)
	}
}

// Proves: L-01, R7 (only the fields that the status reports are kept of server pods, and nothing of other pods).
func TestStripPods(t *testing.T) {
	all := full("llama-stack-operator")
	all.Annotations = map[string]string{"llamastack.io/secrets-hash": "h", "theirs": canary}
	pod := &corev1.Pod{
		ObjectMeta: all,
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "llama-stack", Env: []corev1.EnvVar{{Name: "X", Value: canary}}}}},
		Status: corev1.PodStatus{
			PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady}, {Type: corev1.PodReady, Status: "False", Message: canary}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "llama-stack", Image: "x", ImageID: "x@sha256:1", RestartCount: 7,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: canary}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 1, Reason: "Error", Message: "m", FinishedAt: all.CreationTimestamp, ContainerID: canary,
				}},
			}},
		},
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "n", Namespace: "ns", UID: "u", ResourceVersion: "7", CreationTimestamp: all.CreationTimestamp, DeletionTimestamp: all.DeletionTimestamp,
			Labels: map[string]string{
				"app.kubernetes.io/managed-by": "llama-stack-operator", "app": "llama-stack", "app.kubernetes.io/instance": "my-stack",
			},
			Annotations: map[string]string{"llamastack.io/secrets-hash": "h"},
		},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: "False"}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "llama-stack", ImageID: "x@sha256:1",
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "m"}},
			}},
		},
	}
	got, err := stripPod(pod)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("error %v, kept (-want +got):\n%s", err, diff)
	}
	if got, err := stripPod("a tombstone"); got != "a tombstone" || err != nil {
		t.Errorf("%v %v", got, err)
	}
}

// Proves: L-01, L-34.
func TestOptions(t *testing.T) {
	all := Options(nil, "op", nil)
	if len(all.DefaultNamespaces) != 0 || all.DefaultTransform == nil {
		t.Errorf("options for all namespaces: %+v", all)
	}
	kinds := map[string]bool{}
	for kind, by := range all.ByObject {
		if _, ok := kind.(*unstructured.Unstructured); ok { // custom resources
			continue
		}
		kinds[fmt.Sprintf("%T", kind)] = true
		foreign, own := labels.Set{"app": "llama-stack"}, labels.Set{"app.kubernetes.io/managed-by": "llama-stack-operator"}
		if _, ok := kind.(*corev1.Pod); ok { // pods of release 0.9 lack the operator's label
			own = labels.Set{"app": "llama-stack", "app.kubernetes.io/instance": "my-stack"}
		}
		if by.Label == nil || by.Label.Matches(foreign) || !by.Label.Matches(own) {
			t.Errorf("%T: selector %v: foreign objects would be held in full", kind, by.Label)
		}
	}
	for _, kind := range []string{"*v1.Deployment", "*v1.Service", "*v1.ServiceAccount", "*v1.Pod"} {
		if !kinds[kind] {
			t.Errorf("%s is not restricted", kind)
		}
	}

	some := Options([]string{"a", "b"}, "op", nil)
	if got := sortedKeys(some.DefaultNamespaces); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("namespaces %v", got)
	}
	found := false
	for kind, by := range some.ByObject {
		if _, ok := kind.(*corev1.ConfigMap); ok {
			found = true
			if got := sortedKeys(by.Namespaces); !slices.Equal(got, []string{"a", "b", "op"}) {
				t.Errorf("ConfigMaps of %v: the operator's settings are in op", got)
			}
		} else if len(by.Namespaces) != 0 {
			t.Errorf("%T of %v: want those of the resources", kind, by.Namespaces)
		}
	}
	if !found {
		t.Error("the operator's settings are not watched")
	}

	uncached := map[string]bool{}
	for _, kind := range UncachedKinds() {
		uncached[fmt.Sprintf("%T", kind)] = true
	}
	if !uncached["*v1.Secret"] || !uncached["*v1.ConfigMap"] {
		t.Errorf("read from a cache: all but %v", uncached)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

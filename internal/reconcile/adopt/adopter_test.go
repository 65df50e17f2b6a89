// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

func adopter(c *fakecluster.Cluster) *Adopter { return &Adopter{Client: c, Cached: c, Live: c} }

// Proves: R21, L-06 (the CA bundle of release 0.9 stays while one of its pods exists, and those of others stay).
func TestPruneLegacyCABundle(t *testing.T) {
	bundle := func(uid string) client.Object {
		o := fakecluster.Owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-ca-bundle", UID: "x"}}, uid)
		o.SetLabels(map[string]string{names.LabelManagedBy: names.ManagedBy, "app.kubernetes.io/instance": "my-stack", "app.kubernetes.io/component": "ca-bundle"})
		return o
	}
	mounting := func(revision, pods int32, sources ...corev1.VolumeProjection) client.Object {
		rs := fakecluster.ReplicaSet(int(revision), pods, "a").(*appsv1.ReplicaSet)
		volume := corev1.Volume{Name: "ca-bundle"}
		if len(sources) > 0 {
			volume.Projected = &corev1.ProjectedVolumeSource{Sources: sources}
		} else {
			volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "my-stack-ca-bundle"}}
		}
		rs.Spec.Template.Spec.Volumes = append(rs.Spec.Template.Spec.Volumes, volume)
		return rs
	}
	for name, c := range map[string]struct {
		cluster []client.Object
		deleted string
	}{
		"its pods serve":         {[]client.Object{bundle("u1"), mounting(1, 1)}, "[]"},
		"its pods are going":     {[]client.Object{bundle("u1"), mounting(1, 1), fakecluster.ReplicaSet(2, 1, "a")}, "[]"},
		"its pods have gone":     {[]client.Object{bundle("u1"), mounting(1, 0), fakecluster.ReplicaSet(2, 1, "a")}, "[ConfigMap/my-stack-ca-bundle]"},
		"there were none":        {[]client.Object{bundle("u1")}, "[ConfigMap/my-stack-ca-bundle]"},
		"unowned":                {[]client.Object{bundle("")}, "[]"},
		"of an earlier resource": {[]client.Object{bundle("u0")}, "[]"},
		"the user mounts it": {[]client.Object{bundle("u1"), mounting(2, 1, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "my-stack-ca-bundle"},
		}})}, "[]"},
	} {
		cluster := fakecluster.New(t, c.cluster...)
		if f := adopter(cluster).Prune(t.Context(), fakecluster.Owner()); f != nil {
			t.Fatal(f)
		}
		if got := fakecluster.Sorted(cluster.Deleted); got != c.deleted {
			t.Errorf("%s: deleted %s, want %s", name, got, c.deleted)
		}
	}
}

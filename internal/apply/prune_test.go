// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// generated is a generated ConfigMap that is so many minutes old.
func generated(name string, age int) client.Object {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute))
	return owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: at}}, "u1")
}

// replicaSet is a ReplicaSet that mounts a generated ConfigMap.
func replicaSet(revision int, replicas int32, configMap string) client.Object {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: "rs-" + strconv.Itoa(revision), Annotations: map[string]string{"deployment.kubernetes.io/revision": strconv.Itoa(revision)},
	}}
	rs.Spec.Replicas = &replicas
	rs.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "user-config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}}}
	return owned(rs, "")
}

func configMap(name string) objects.Object {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Proves: R17 (of the generated ConfigMaps the desired and the previous one stay, and what pods mount), R19.
func TestPruneConfigMaps(t *testing.T) {
	for name, c := range map[string]struct {
		cluster []client.Object
		wanted  []objects.Object
		deleted string
		asked   bool // for the ReplicaSets
	}{
		"the first": {[]client.Object{generated("a", 1)}, []objects.Object{configMap("a")}, "[]", false},
		"the first edit": {
			[]client.Object{generated("a", 2), generated("b", 1), replicaSet(1, 1, "a")}, []objects.Object{configMap("b")}, "[]", false,
		},
		"the third, while the rollout begins": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), replicaSet(1, 0, "a"), replicaSet(2, 1, "b")},
			[]objects.Object{configMap("c")}, "[ConfigMap/a]", true,
		},
		"the third, after the rollout": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), replicaSet(2, 0, "b"), replicaSet(3, 1, "c")},
			[]objects.Object{configMap("c")}, "[ConfigMap/a]", true,
		},
		"a slow rollout: pods of the oldest still serve": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), replicaSet(1, 1, "a"), replicaSet(2, 1, "b"), replicaSet(3, 1, "c")},
			[]objects.Object{configMap("c")}, "[]", true,
		},
		"previous is what ran last, not what was made last": { // a, b, a again, c
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), replicaSet(2, 0, "b"), replicaSet(3, 0, "a"), replicaSet(4, 1, "c")},
			[]objects.Object{configMap("c")}, "[ConfigMap/b]", true,
		},
		"no ReplicaSets left: the youngest is the previous one": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1)}, []objects.Object{configMap("c")}, "[ConfigMap/a]", true,
		},
		"back to the image's own configuration": {
			[]client.Object{generated("a", 2), generated("b", 1), replicaSet(2, 0, "b"), replicaSet(3, 1, "")}, nil, "[ConfigMap/a]", true,
		},
		"of others": {
			[]client.Object{
				generated("a", 1),
				owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "unowned", UID: "x"}}, ""),
				owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "earlier", UID: "y"}}, "u0"),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "users"}},
			},
			[]objects.Object{configMap("a")}, "[]", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, c.cluster...)
			if f := cluster.applier().Prune(t.Context(), owner(), c.wanted); f != nil {
				t.Fatal(f)
			}
			if got := sorted(cluster.deleted); got != c.deleted {
				t.Errorf("deleted %s, want %s", got, c.deleted)
			}
			// Proves: R56, L-03 (an idle resource costs no request).
			if (cluster.listsOfReplicas > 0) != c.asked {
				t.Errorf("ReplicaSets were listed %d times", cluster.listsOfReplicas)
			}
		})
	}
}

// Proves: R21, L-06 (the CA certificates that release 0.9 has left stay while one of its pods is there, and go then; others' stay).
func TestPruneLegacyCABundle(t *testing.T) {
	bundle := func(uid string) client.Object {
		o := owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "my-stack-ca-bundle", UID: "x"}}, uid)
		o.SetLabels(map[string]string{objects.LabelManagedBy: objects.ManagedBy, "app.kubernetes.io/instance": "my-stack", "app.kubernetes.io/component": "ca-bundle"})
		return o
	}
	mounting := func(revision, pods int32, sources ...corev1.VolumeProjection) client.Object {
		rs := replicaSet(int(revision), pods, "a").(*appsv1.ReplicaSet)
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
		"its pods are going":     {[]client.Object{bundle("u1"), mounting(1, 1), replicaSet(2, 1, "a")}, "[]"},
		"its pods have gone":     {[]client.Object{bundle("u1"), mounting(1, 0), replicaSet(2, 1, "a")}, "[ConfigMap/my-stack-ca-bundle]"},
		"there were none":        {[]client.Object{bundle("u1")}, "[ConfigMap/my-stack-ca-bundle]"},
		"nobody's":               {[]client.Object{bundle("")}, "[]"},
		"of an earlier resource": {[]client.Object{bundle("u0")}, "[]"},
		"the user mounts it": {[]client.Object{bundle("u1"), mounting(2, 1, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{
			LocalObjectReference: corev1.LocalObjectReference{Name: "my-stack-ca-bundle"},
		}})}, "[]"},
	} {
		cluster := newCluster(t, append(c.cluster, generated("a", 1))...)
		if f := cluster.applier().Prune(t.Context(), owner(), []objects.Object{configMap("a")}); f != nil {
			t.Fatal(f)
		}
		if got := sorted(cluster.deleted); got != c.deleted {
			t.Errorf("%s: deleted %s, want %s", name, got, c.deleted)
		}
	}
}

// Proves: R54, R17 (derived Secrets are kept and removed as ConfigMaps are, each sort by itself; credentials that nothing uses go).
func TestPruneDerivedSecrets(t *testing.T) {
	credentials := func(hash string, age int) client.Object {
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute))
		name := "my-stack-env-" + hash
		return owned(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: at}}, "u1")
	}
	uses := func(revision int, replicas int32, hash string) client.Object {
		rs := replicaSet(revision, replicas, "my-stack-config-x").(*appsv1.ReplicaSet)
		rs.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "PGPASSWORD", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "my-stack-env-" + hash}, Key: "PGPASSWORD"},
		}}}}}
		return rs
	}
	const a, b, c = "aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc"
	wanted := func(hash string) []objects.Object {
		return []objects.Object{&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "my-stack-env-" + hash}}}
	}
	for name, test := range map[string]struct {
		cluster []client.Object
		wanted  []objects.Object
		deleted string
	}{
		"the first rotation":         {[]client.Object{credentials(a, 2), credentials(b, 1), uses(1, 1, a)}, wanted(b), "[]"},
		"the second":                 {[]client.Object{credentials(a, 3), credentials(b, 2), credentials(c, 1), uses(1, 0, a), uses(2, 1, b)}, wanted(c), "[Secret/my-stack-env-" + a + "]"},
		"an old pod still runs":      {[]client.Object{credentials(a, 3), credentials(b, 2), credentials(c, 1), uses(1, 1, a), uses(2, 1, b)}, wanted(c), "[]"},
		"one of each sort":           {[]client.Object{credentials(a, 2), credentials(b, 1), generated("my-stack-config-x", 1), generated("my-stack-config-y", 2)}, append(wanted(b), configMap("my-stack-config-x")), "[]"},
		"no longer asked for":        {[]client.Object{credentials(a, 1), replicaSet(2, 1, "")}, nil, "[Secret/my-stack-env-" + a + "]"},
		"not asked for, but running": {[]client.Object{credentials(a, 1), uses(1, 1, a)}, nil, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, test.cluster...)
			if f := cluster.applier().Prune(t.Context(), owner(), test.wanted); f != nil {
				t.Fatal(f)
			}
			if got := sorted(cluster.deleted); got != test.deleted {
				t.Errorf("deleted %s, want %s", got, test.deleted)
			}
		})
	}
}

// Proves: R17, L-08 (owned minus desired, and nothing else).
func TestPruneOtherKinds(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(name)} }
	cluster := newCluster(t,
		owned(&appsv1.Deployment{ObjectMeta: named("my-stack")}, "u1"),
		owned(&corev1.Service{ObjectMeta: named("my-stack-service")}, "u1"),
		owned(&corev1.Service{ObjectMeta: named("obsolete")}, "u1"),
		owned(&corev1.Service{ObjectMeta: named("unowned")}, ""),
		owned(&corev1.Service{ObjectMeta: named("earlier")}, "u0"),
		owned(&corev1.ServiceAccount{ObjectMeta: named("my-stack-sa")}, "u1"),
		owned(&corev1.ServiceAccount{ObjectMeta: named("my-stack")}, "u1"), // the name of another kind's
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "users"}},
	)
	if f := cluster.applier().Prune(t.Context(), owner(), desiredObjects("a: 1")); f != nil {
		t.Fatal(f)
	}
	if got := sorted(cluster.deleted); got != "[Service/obsolete ServiceAccount/my-stack]" {
		t.Errorf("deleted %s", got)
	}
}

func TestPruneFails(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"gone already":         {apierrors.NewNotFound(services, "obsolete"), false},
		"another of this name": {apierrors.NewConflict(services, "obsolete", errors.New("uid")), false},
		"timeout":              {apierrors.NewServerTimeout(services, "delete", 1), true},
	} {
		cluster := newCluster(t, owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "obsolete", UID: "s"}}, "u1"))
		cluster.refuse["Service/obsolete"] = c.err
		f := cluster.applier().Prune(t.Context(), owner(), nil)
		if (f != nil) != c.want {
			t.Errorf("%s: fault %v", name, f)
		}
		if f != nil && (f.Class != problem.Transient || !strings.Contains(f.String(), "Service obsolete")) {
			t.Errorf("%s: fault %+v", name, f)
		}
	}
}

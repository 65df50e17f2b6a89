// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
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

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// generated returns a generated ConfigMap with this age in minutes.
func generated(name string, age int) client.Object {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute))
	return fakecluster.Owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: at}}, "u1")
}

func configMap(name string) objects.Object {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Proves: R17, R19 (the desired, the previous and the mounted ConfigMaps stay).
func TestPruneConfigMaps(t *testing.T) {
	for name, c := range map[string]struct {
		cluster []client.Object
		wanted  []objects.Object
		deleted string
		asked   bool // ReplicaSets are listed
	}{
		"the first": {[]client.Object{generated("a", 1)}, []objects.Object{configMap("a")}, "[]", false},
		"the first edit": {
			[]client.Object{generated("a", 2), generated("b", 1), fakecluster.ReplicaSet(1, 1, "a")}, []objects.Object{configMap("b")}, "[]", false,
		},
		"the third, while the rollout begins": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), fakecluster.ReplicaSet(1, 0, "a"), fakecluster.ReplicaSet(2, 1, "b")},
			[]objects.Object{configMap("c")}, "[ConfigMap/a]", true,
		},
		"the third, after the rollout": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), fakecluster.ReplicaSet(2, 0, "b"), fakecluster.ReplicaSet(3, 1, "c")},
			[]objects.Object{configMap("c")}, "[ConfigMap/a]", true,
		},
		"a slow rollout: pods of the oldest still serve": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), fakecluster.ReplicaSet(1, 1, "a"), fakecluster.ReplicaSet(2, 1, "b"), fakecluster.ReplicaSet(3, 1, "c")},
			[]objects.Object{configMap("c")}, "[]", true,
		},
		"previous is what ran last, not what was made last": { // a, b, a again, c
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1), fakecluster.ReplicaSet(2, 0, "b"), fakecluster.ReplicaSet(3, 0, "a"), fakecluster.ReplicaSet(4, 1, "c")},
			[]objects.Object{configMap("c")}, "[ConfigMap/b]", true,
		},
		"no ReplicaSets left: the youngest is the previous one": {
			[]client.Object{generated("a", 3), generated("b", 2), generated("c", 1)}, []objects.Object{configMap("c")}, "[ConfigMap/a]", true,
		},
		"back to the image's own configuration": {
			[]client.Object{generated("a", 2), generated("b", 1), fakecluster.ReplicaSet(2, 0, "b"), fakecluster.ReplicaSet(3, 1, "")}, nil, "[ConfigMap/a]", true,
		},
		"of others": {
			[]client.Object{
				generated("a", 1),
				fakecluster.Owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "unowned", UID: "x"}}, ""),
				fakecluster.Owned(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "earlier", UID: "y"}}, "u0"),
				&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "users"}},
			},
			[]objects.Object{configMap("a")}, "[]", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fakecluster.New(t, c.cluster...)
			if f := applier(cluster).Prune(t.Context(), fakecluster.Owner(), c.wanted); f != nil {
				t.Fatal(f)
			}
			if got := fakecluster.Sorted(cluster.Deleted); got != c.deleted {
				t.Errorf("deleted %s, want %s", got, c.deleted)
			}
			// Proves: R56, L-03 (an idle resource causes no request).
			if (cluster.ListsOfReplicaSets > 0) != c.asked {
				t.Errorf("ReplicaSets were listed %d times", cluster.ListsOfReplicaSets)
			}
		})
	}
}

// Proves: R54, R17 (derived Secrets are pruned like ConfigMaps but separately, and unused credentials are deleted).
func TestPruneDerivedSecrets(t *testing.T) {
	credentials := func(hash string, age int) client.Object {
		at := metav1.NewTime(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(-time.Duration(age) * time.Minute))
		name := "my-stack-env-" + hash
		return fakecluster.Owned(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: at}}, "u1")
	}
	uses := func(revision int, replicas int32, hash string) client.Object {
		rs := fakecluster.ReplicaSet(revision, replicas, "my-stack-config-x").(*appsv1.ReplicaSet)
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
		"no longer asked for":        {[]client.Object{credentials(a, 1), fakecluster.ReplicaSet(2, 1, "")}, nil, "[Secret/my-stack-env-" + a + "]"},
		"not asked for, but running": {[]client.Object{credentials(a, 1), uses(1, 1, a)}, nil, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fakecluster.New(t, test.cluster...)
			if f := applier(cluster).Prune(t.Context(), fakecluster.Owner(), test.wanted); f != nil {
				t.Fatal(f)
			}
			if got := fakecluster.Sorted(cluster.Deleted); got != test.deleted {
				t.Errorf("deleted %s, want %s", got, test.deleted)
			}
		})
	}
}

// Proves: R17, L-08 (objects that are owned and not desired are deleted).
func TestPruneOtherKinds(t *testing.T) {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: types.UID(name)} }
	cluster := fakecluster.New(t,
		fakecluster.Owned(&appsv1.Deployment{ObjectMeta: named("my-stack")}, "u1"),
		fakecluster.Owned(&corev1.Service{ObjectMeta: named("my-stack-service")}, "u1"),
		fakecluster.Owned(&corev1.Service{ObjectMeta: named("obsolete")}, "u1"),
		fakecluster.Owned(&corev1.Service{ObjectMeta: named("unowned")}, ""),
		fakecluster.Owned(&corev1.Service{ObjectMeta: named("earlier")}, "u0"),
		fakecluster.Owned(&corev1.ServiceAccount{ObjectMeta: named("my-stack-sa")}, "u1"),
		fakecluster.Owned(&corev1.ServiceAccount{ObjectMeta: named("my-stack")}, "u1"), // same name, another kind
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "users"}},
	)
	if f := applier(cluster).Prune(t.Context(), fakecluster.Owner(), fakecluster.Desired("a: 1")); f != nil {
		t.Fatal(f)
	}
	if got := fakecluster.Sorted(cluster.Deleted); got != "[Service/obsolete ServiceAccount/my-stack]" {
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
		cluster := fakecluster.New(t, fakecluster.Owned(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "obsolete", UID: "s"}}, "u1"))
		cluster.Refuse["Service/obsolete"] = c.err
		f := applier(cluster).Prune(t.Context(), fakecluster.Owner(), nil)
		if (f != nil) != c.want {
			t.Errorf("%s: fault %v", name, f)
		}
		if f != nil && (f.Class != problem.Transient || !strings.Contains(f.String(), "Service obsolete")) {
			t.Errorf("%s: fault %+v", name, f)
		}
	}
}

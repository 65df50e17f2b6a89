// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func sharing(namespace, name, share, databases string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{names.LabelInstance: name},
		Annotations: map[string]string{names.AnnotationShare: share, names.AnnotationDatabases: databases},
	}}
}

// Proves: WEIGHT (peers are the applied resources of the namespace with the same host name and a weight).
func TestPeers(t *testing.T) {
	scheme := runtime.NewScheme()
	framework.NoError(t, appsv1.AddToScheme(scheme))
	available := sharing("ai", "b", "h 90 9000", "h1,h2")
	available.Status.AvailableReplicas = 1
	deleted := sharing("ai", "deleted", "h 5 8321", "")
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/held"}
	c := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&appsv1.Deployment{}, ShareIndex, SharedHost).WithObjects(
		available, deleted, sharing("ai", "a", "h 0 8321", ""), sharing("ai", "own", "h 10 8321", ""), sharing("ai", "other", "x 1 8321", ""),
		sharing("elsewhere", "c", "h 1 8321", ""), sharing("ai", "broken", "h", ""),
	).Build()
	g := &Gatherer{Cached: c}
	for expose, want := range map[string][]build.Peer{
		`{"hostname":"h","weight":10}`: {
			{Share: objects.Share{Name: "a", Host: "h", Weight: 0, Port: 8321}},
			{Share: objects.Share{Name: "b", Host: "h", Weight: 90, Port: 9000}, Available: true, Databases: []string{"h1", "h2"}},
		},
		`{"hostname":"h"}`: nil, `{"weight":10}`: nil, `{"hostname":"h","weight":10,"enabled":false}`: nil,
	} {
		cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "own"}}
		cr.Spec.Networking = &v1alpha2.NetworkingSpec{Expose: &apiextensionsv1.JSON{Raw: []byte(expose)}}
		in := build.NewInputs(cr)
		if p := g.peers(t.Context(), in); p != nil {
			t.Fatal(p)
		}
		same := func(a, b build.Peer) bool {
			return a.Share == b.Share && a.Available == b.Available && slices.Equal(a.Databases, b.Databases)
		}
		if !slices.EqualFunc(in.Peers, want, same) {
			t.Errorf("%s: %+v, want %+v", expose, in.Peers, want)
		}
	}
}

// Proves: WEIGHT, L-03 (peers are reconciled when a share, its databases or the server's availability change, not for every
// status of a Deployment).
func TestShareDiffers(t *testing.T) {
	old := sharing("ai", "a", "h 10 8321", "h1")
	old.Status.AvailableReplicas = 1
	for name, c := range map[string]struct {
		change func(d *appsv1.Deployment)
		want   bool
	}{
		"nothing":      {func(*appsv1.Deployment) {}, false},
		"another pod":  {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }, false},
		"no pod":       {func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 0 }, true},
		"weight":       {func(d *appsv1.Deployment) { d.Annotations[names.AnnotationShare] = "h 20 8321" }, true},
		"databases":    {func(d *appsv1.Deployment) { d.Annotations[names.AnnotationDatabases] = "h2" }, true},
		"deleted":      {func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{} }, true},
		"other fields": {func(d *appsv1.Deployment) { d.Annotations["other"] = "x" }, false},
	} {
		changed := old.DeepCopy()
		c.change(changed)
		if got := ShareDiffers(old, changed); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

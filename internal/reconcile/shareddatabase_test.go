// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func withDatabases(namespace, name, hashes string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{names.LabelInstance: name},
		Annotations: map[string]string{names.AnnotationDatabases: hashes},
	}}
}

// Proves: R95 (a change of one custom resource's database reconciles those with the same one, in all namespaces).
func TestUsersOfDatabases(t *testing.T) {
	scheme := runtime.NewScheme()
	framework.NoError(t, appsv1.AddToScheme(scheme))
	changed := withDatabases("ai", "changed", "h1,h2")
	c := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&appsv1.Deployment{}, gather.DatabaseIndex, gather.Databases).WithObjects(
		changed, withDatabases("ai", "same", "h1"), withDatabases("elsewhere", "other-kind", "h0,h2"), withDatabases("ai", "unrelated", "h3"),
		withDatabases("ai", "files", ""),
	).Build()
	r := &Reconciler{client: c}
	if got := texts(r.usersOfDatabases(t.Context(), changed)); !slices.Equal(got, []string{"ai/same", "elsewhere/other-kind"}) {
		t.Errorf("reconciles %v", got)
	}
	if got := r.usersOfDatabases(t.Context(), withDatabases("ai", "files", "")); len(got) != 0 {
		t.Errorf("without databases: %v", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// asked is a cache that only remembers what it was asked.
type asked struct {
	cache.Cache
	indexed []string
	fields  fields.Selector
}

func (a *asked) IndexField(_ context.Context, o client.Object, field string, extract client.IndexerFunc) error {
	o.SetLabels(objects.Selector("mine"))
	a.indexed = append(a.indexed, field+" "+extract(o)[0])
	return nil
}

func (a *asked) List(_ context.Context, _ client.ObjectList, options ...client.ListOption) error {
	a.fields = (&client.ListOptions{}).ApplyOptions(options).FieldSelector
	return nil
}

// Proves: R56 (what is listed of one custom resource is found by an index, as the cache holds its kind; all else is listed as asked).
func TestListsOfOneResourceUseTheIndex(t *testing.T) {
	inner := &asked{}
	c, err := newByInstance(t.Context(), inner, scheme.Scheme, instanceKinds(nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(inner.indexed) != len(apply.OwnedKinds())+1 || inner.indexed[0] != "instance mine" {
		t.Errorf("indexed: %v", inner.indexed)
	}
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	of := client.MatchingLabels(objects.Selector("mine"))
	for what, one := range map[string]struct {
		list    client.ObjectList
		options []client.ListOption
		want    string
	}{
		"a kind":           {&appsv1.DeploymentList{}, []client.ListOption{client.InNamespace("ns"), of}, "instance=mine"},
		"metadata":         {metadata, []client.ListOption{of}, "instance=mine"},
		"pods":             {&corev1.PodList{}, []client.ListOption{client.MatchingLabels(objects.NewPodsSelector("mine"))}, "instance=mine"},
		"as it is not":     {&corev1.SecretList{}, []client.ListOption{of}, ""},
		"another kind":     {&networkingv1.IngressClassList{}, []client.ListOption{of}, ""},
		"of all":           {&appsv1.DeploymentList{}, []client.ListOption{client.InNamespace("ns")}, ""},
		"by another label": {&appsv1.DeploymentList{}, []client.ListOption{client.HasLabels{objects.LabelInstance}}, ""},
		"by a field":       {&appsv1.DeploymentList{}, []client.ListOption{of, client.MatchingFields{"x": "y"}}, "x=y"},
	} {
		if err := c.List(t.Context(), one.list, one.options...); err != nil {
			t.Fatal(err)
		}
		got := ""
		if inner.fields != nil {
			got = inner.fields.String()
		}
		if got != one.want {
			t.Errorf("%s: fields %q, want %q", what, got, one.want)
		}
	}
}

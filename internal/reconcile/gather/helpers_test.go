// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const (
	operatorNamespace = "llama-stack-k8s-operator-system"
	canary            = "sk-canary-7f3a"
)

var errTimeout = errors.New("the server timed out")

// cluster is a fake API server that counts reads and can fail them.
type cluster struct {
	client.WithWatch
	reads map[string]int // by "Kind/name"
	fails map[string]error
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme), v1alpha2.AddToScheme(scheme), endpoint.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{reads: map[string]int{}, fails: map[string]error{}}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			kind := fmt.Sprintf("%T", o)
			what := kind[strings.LastIndex(kind, ".")+1:] + "/" + key.Name
			c.reads[what]++
			if err := c.fails[what]; err != nil {
				return err
			}
			return inner.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			asked := (&client.ListOptions{}).ApplyOptions(opts)
			if asked.Namespace != operatorNamespace || asked.LabelSelector == nil || asked.LabelSelector.String() != settings.LabelDistribution {
				return errors.New("gathering lists nothing but registered distributions: it reads what is named")
			}
			what := fmt.Sprintf("%T", list)
			what = what[strings.LastIndex(what, ".")+1:]
			c.reads[what]++
			if err := c.fails[what]; err != nil {
				return err
			}
			return inner.List(ctx, list, opts...)
		},
	}).Build()
	return c
}

func newGatherer(live, cached client.Reader) *gather.Gatherer {
	return &gather.Gatherer{
		Live: live, Cached: cached, OperatorNamespace: operatorNamespace,
		HashKey: secret.New(make([]byte, 32)), Build: "1.0.0", ClusterAssignsUserIDs: true,
	}
}

// resource returns a custom resource that refers to three keys in two Secrets.
func resource() *v1alpha2.LlamaStackDistribution {
	name := "starter"
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1"}}
	cr.Spec.Distribution.Name = &name
	cr.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: []byte(`[
		{"id":"a","provider":"vllm","endpoint":"http://a:8000","apiKey":{"name":"one","key":"k1"}},
		{"id":"b","provider":"vllm","endpoint":"http://b:8000","apiKey":{"secretKeyRef":{"name":"one","key":"k2"}}},
		{"id":"c","provider":"vllm","endpoint":"http://c:8000","apiKey":{"name":"two","key":"k1"}}]`)}}
	return cr
}

func newSecret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func operatorSettings(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "llama-stack-operator-config", UID: "cm1"}, Data: data,
	}
}

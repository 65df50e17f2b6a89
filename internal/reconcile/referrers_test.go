// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func reconciler(t *testing.T, resources ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(resources...).WithInterceptorFuncs(interceptor.Funcs{List: listNames})
	builder.WithIndex(&v1alpha2.LlamaStackDistribution{}, caching.ReferenceIndex, caching.References)
	return &Reconciler{client: builder.Build()}
}

// listNames lists names by the indexes of the operator's cache.
func listNames(ctx context.Context, c client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
	names, ok := into.(*metav1.PartialObjectMetadataList)
	if !ok {
		return c.List(ctx, into, options...)
	}
	list := &v1alpha2.LlamaStackDistributionList{}
	if err := c.List(ctx, list, options...); err != nil {
		return err
	}
	for i := range list.Items {
		names.Items = append(names.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}})
	}
	return nil
}

func referring(namespace, name, inference string) *v1alpha2.LlamaStackDistribution {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if inference != "" {
		cr.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: []byte(inference)}}
	}
	return cr
}

func texts(requests []reconcile.Request) []string {
	names := []string{}
	for _, r := range requests {
		names = append(names, r.String())
	}
	slices.Sort(names)
	return names
}

// Proves: L-02, L-23, R20 (a Secret enqueues only the resources that name it, in its namespace and without labels).
func TestReferrersOfSecret(t *testing.T) {
	r := reconciler(t,
		referring("ai", "object", `{"provider":"vllm","apiKey":{"name":"creds","key":"k"}}`),
		referring("ai", "second", `[{"id":"a","provider":"vllm","apiKey":{"name":"other","key":"k"}},
			{"id":"b","provider":"vllm","secretRefs":{"x":{"secretKeyRef":{"name":"creds","key":"k"}}}}]`),
		referring("ai", "unrelated", `{"provider":"vllm","apiKey":{"name":"other","key":"k"}}`),
		referring("ai", "wrong", `{"provider":"vllm","apiKey":{"name":"creds"}}`),
		referring("ai", "none", ""),
		referring("elsewhere", "object", `{"provider":"vllm","apiKey":{"name":"creds","key":"k"}}`),
	)
	secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "creds"}}
	if got := texts(r.referrersOf(objects.KindSecret)(t.Context(), secret)); !slices.Equal(got, []string{"ai/object", "ai/second"}) {
		t.Errorf("woken: %v", got)
	}
	secret.Name = "unreferenced"
	if got := texts(r.referrersOf(objects.KindSecret)(t.Context(), secret)); len(got) != 0 {
		t.Errorf("an unreferenced Secret starts reconciles: %v", got)
	}
}

// Proves: FR-074, R20, L-23, L-01 (a changed CA bundle enqueues the resources that name it).
func TestReferrersOfConfigMap(t *testing.T) {
	trusting := func(namespace, name, configMap string) *v1alpha2.LlamaStackDistribution {
		cr := referring(namespace, name, "")
		cr.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: configMap}}}
		return cr
	}
	r := reconciler(t, trusting("ai", "a", "trusted-ca"), trusting("ai", "b", "other"), trusting("elsewhere", "c", "trusted-ca"), referring("ai", "none", ""))
	cm := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "trusted-ca"}}
	if got := texts(r.referrersOf(objects.KindConfigMap)(t.Context(), cm)); !slices.Equal(got, []string{"ai/a"}) {
		t.Errorf("woken: %v", got)
	}
}

// Proves: L-23, R20.
func TestReferrersByOverrides(t *testing.T) {
	overriding := func(namespace, name string) *v1alpha2.LlamaStackDistribution {
		cr := referring(namespace, name, "")
		cr.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{
			Env: []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "creds"}, Key: "k",
			}}}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "files"},
			}}}},
		}}
		return cr
	}
	r := reconciler(t, overriding("ai", "a"), overriding("elsewhere", "b"), referring("ai", "none", ""))
	named := func(name string) client.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}}
	}
	for what, got := range map[string][]reconcile.Request{
		"the Secret":    r.referrersOf(objects.KindSecret)(t.Context(), named("creds")),
		"the ConfigMap": r.referrersOf(objects.KindConfigMap)(t.Context(), named("files")),
	} {
		if got := texts(got); !slices.Equal(got, []string{"ai/a"}) {
			t.Errorf("woken by %s: %v", what, got)
		}
	}
	for what, got := range map[string][]reconcile.Request{
		"a Secret named as the ConfigMap": r.referrersOf(objects.KindSecret)(t.Context(), named("files")),
		"a ConfigMap named as the Secret": r.referrersOf(objects.KindConfigMap)(t.Context(), named("creds")),
	} {
		if len(got) != 0 {
			t.Errorf("woken by %s: %v", what, got)
		}
	}
}

// Proves: R72, L-23, R20 (objects in the pod defaults enqueue all resources of their namespace and no others).
func TestReferrersByDefaults(t *testing.T) {
	foreign := referring("elsewhere", "d", "")
	foreign.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "trust"}
	foreign.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1","kept":{"spec.server.userConfig":` +
		`{"was":{"configMapName":"trust","configMapNamespace":"ai"},"if":{"configMapName":"trust"}}}}`}
	r := reconciler(t, referring("ai", "a", ""), referring("ai", "b", ""), referring("elsewhere", "c", ""), foreign)
	keys := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "keys"}}
	if got := r.referrersOf(objects.KindSecret)(t.Context(), keys); len(got) != 0 {
		t.Errorf("before the settings are known, woken %v", got)
	}
	r.settings = settingsOf(t, "overrides: {envFrom: [{secretRef: {name: keys}}]}")
	if got := texts(r.referrersOf(objects.KindSecret)(t.Context(), keys)); !slices.Equal(got, []string{"ai/a", "ai/b"}) {
		t.Errorf("woken: %v", got)
	}
	if got := r.referrersOf(objects.KindConfigMap)(t.Context(), keys); len(got) != 0 {
		t.Errorf("woken by a ConfigMap of this name: %v", got)
	}
	r.settings = settingsOf(t, "overrides: {envFrom: [{configMapRef: {name: trust}}]}")
	trust := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "trust"}}
	if got := texts(r.referrersOf(objects.KindConfigMap)(t.Context(), trust)); !slices.Equal(got, []string{"ai/a", "ai/b", "elsewhere/d"}) {
		t.Errorf("woken: %v, want also who names it from elsewhere", got)
	}
	r.settings = settingsOf(t, "")
	if got := r.referrersOf(objects.KindSecret)(t.Context(), keys); len(got) != 0 {
		t.Errorf("woken without defaults: %v", got)
	}
}

// settingsOf returns a store with these pod defaults.
func settingsOf(t *testing.T, podDefaults string) *gather.SettingsStore {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: settings.ConfigMapName}, Data: map[string]string{settings.KeyPodDefaults: podDefaults}}
	store := gather.NewSettingsStoreOf(fake.NewClientBuilder().WithObjects(cm).Build(), "op")
	if _, p := (&gather.Gatherer{Store: store}).Settings(t.Context()); p != nil {
		t.Fatal(p)
	}
	return store
}

// Proves: R81 (a registration enqueues the resources that name it or may use its image).
func TestUsersOfARegisteredDistribution(t *testing.T) {
	using := func(name string, d v1alpha2.DistributionSpec) *v1alpha2.LlamaStackDistribution {
		cr := referring("ai", name, "")
		cr.Spec.Distribution = d
		return cr
	}
	r := reconciler(t, using("a", v1alpha2.DistributionSpec{Name: new("mine")}), using("b", v1alpha2.DistributionSpec{Name: new("starter")}),
		using("c", v1alpha2.DistributionSpec{Image: new("registry.example/mine:1")}))
	registers := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: "x", Labels: map[string]string{settings.LabelDistribution: "mine"}}}
	if got := texts(r.settingsReferrers(t.Context(), registers)); !slices.Equal(got, []string{"ai/a", "ai/c"}) {
		t.Errorf("woken: %v", got)
	}
}

// Proves: R47 (changed operator settings enqueue all resources).
func TestAllWhenSettings(t *testing.T) {
	r := reconciler(t, referring("ai", "a", ""), referring("b", "b", ""))
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: "llama-stack-operator-config"}}
	if got := texts(r.settingsReferrers(t.Context(), cm)); !slices.Equal(got, []string{"ai/a", "b/b"}) {
		t.Errorf("woken %v", got)
	}
}

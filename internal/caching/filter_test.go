// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// secrets is an API server with nothing but Secrets, as their metadata.
type secrets struct {
	items  []metav1.PartialObjectMetadata
	events *watch.FakeWatcher
}

func (s *secrets) List(metav1.ListOptions) (runtime.Object, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: slices.Clone(s.items)}, nil
}

func (s *secrets) Watch(metav1.ListOptions) (watch.Interface, error) { return s.events, nil }

func (*secrets) IsWatchListSemanticsUnSupported() bool { return true }

func secretOf(name, version string) *metav1.PartialObjectMetadata {
	o := apply.SecretMetadata()
	o.Namespace, o.Name, o.ResourceVersion = "ns", name, version
	return o
}

// Proves: L-01, L-02, R20 (of ten thousand Secrets the cache holds those that a custom resource refers to, and the operator's own; a reference that
// is new is followed from the next change of the Secret on, its end included).
func TestForeignSecretsCostNothing(t *testing.T) {
	api := &secrets{events: watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 10})}
	for i := range 10000 {
		api.items = append(api.items, *secretOf(fmt.Sprint("foreign-", i), "1"))
	}
	own := secretOf("own", "1")
	own.Labels = map[string]string{objects.LabelManagedBy: objects.ManagedBy}
	api.items = append(api.items, *own, *secretOf("referred", "1"))
	var referred atomic.Value
	referred.Store([]string{IndexValue(objects.KindSecret, "ns", "referred"), IndexValue(objects.KindSecret, "ns", "foreign-7")})
	f := &filter{referred: func(value string) bool { return slices.Contains(referred.Load().([]string), value) }}
	informer := f.newInformer(api, apply.SecretMetadata(), 0, toolscache.Indexers{})
	seen := make(chan string, 100)
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen <- "added " + o.(metav1.Object).GetName() },
		UpdateFunc: func(_, o any) { seen <- "updated " + o.(metav1.Object).GetName() },
		DeleteFunc: func(o any) { seen <- "deleted " + o.(metav1.Object).GetName() },
	}); err != nil {
		t.Fatal(err)
	}
	known := []string{"ns/foreign-7", "ns/own", "ns/referred"}
	runInformer(t, informer)
	if got := informer.GetStore().ListKeys(); !slices.Equal(slices.Sorted(slices.Values(got)), known) {
		t.Errorf("held are %v, want %v", got, known)
	}
	for range known {
		<-seen
	}

	referred.Store([]string{IndexValue(objects.KindSecret, "ns", "foreign-8")})
	api.events.Modify(secretOf("foreign-9", "2"))
	api.events.Delete(secretOf("foreign-8", "3")) // it was not held
	for _, want := range []string{"added foreign-8", "deleted foreign-8"} {
		select {
		case got := <-seen:
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("nothing is %s", want)
		}
	}
}

// Proves: R72, L-01 (what the operator's settings name is held in every namespace, once they are known).
func TestDefaultsOfTheSettingsAreKept(t *testing.T) {
	f := &filter{referred: func(string) bool { return false }, defaults: &gather.Defaults{}}
	kind := corev1.SchemeGroupVersion.WithKind(objects.KindSecret)
	if f.keeps(kind, secretOf("keys", "1")) {
		t.Error("kept before anybody names it")
	}
	f.defaults.Set(&settings.PodDefaults{Overrides: &settings.OverrideDefaults{EnvFrom: []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}}},
	}}})
	if !f.keeps(kind, secretOf("keys", "1")) || f.keeps(kind, secretOf("others", "1")) || f.keeps(corev1.SchemeGroupVersion.WithKind("ConfigMap"), secretOf("keys", "1")) {
		t.Error("other objects are kept than the one that the settings name")
	}
}

// Proves: R81, R55, L-01 (of the operator's namespace, ConfigMaps that register distributions are held; that one does no longer is seen).
func TestRegistrationsAreKept(t *testing.T) {
	f := &filter{referred: func(string) bool { return false }, operatorNamespace: "op"}
	kind := corev1.SchemeGroupVersion.WithKind(objects.KindConfigMap)
	configMap := func(namespace string, labels map[string]string) *metav1.PartialObjectMetadata {
		o := secretOf("mine", "1")
		o.Namespace, o.Labels = namespace, labels
		return o
	}
	registers := map[string]string{settings.LabelDistribution: "mine", "theirs": "x"}
	for i, c := range []struct {
		o    *metav1.PartialObjectMetadata
		want bool
	}{
		{configMap("op", nil), false},
		{configMap("ns", registers), false},
		{configMap("op", registers), true},
		{configMap("op", nil), true},
		{configMap("op", nil), false},
	} {
		if got := f.keeps(kind, c.o); got != c.want {
			t.Errorf("%d: kept %t, want %t", i, got, c.want)
		}
	}
	if f.keeps(corev1.SchemeGroupVersion.WithKind(objects.KindSecret), configMap("op", registers)) {
		t.Error("a Secret is kept that registers nothing")
	}
	o := configMap("op", registers)
	if _, err := strip(o); err != nil || len(o.Labels) != 1 || o.Labels[settings.LabelDistribution] != "mine" {
		t.Errorf("labels %v, %v", o.Labels, err)
	}
}

func runInformer(t *testing.T, informer toolscache.SharedIndexInformer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); informer.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	fixture.Eventually(t, time.Minute, "the informer has listed", func() error {
		if !informer.HasSynced() {
			return fmt.Errorf("%d objects", len(informer.GetStore().ListKeys()))
		}
		return nil
	})
}

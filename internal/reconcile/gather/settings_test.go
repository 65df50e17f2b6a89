// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func registration(configMap, name, image string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: operatorNamespace, Name: configMap, UID: types.UID(configMap), Labels: map[string]string{settings.LabelDistribution: name},
		},
		Data: map[string]string{"image": image},
	}
}

func resourceWithName(distribution string) *v1alpha2.LlamaStackDistribution {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1"}}
	cr.Spec.Distribution.Name = &distribution
	return cr
}

// Proves: R81, NFR-004 (only new, deleted or changed registrations are read, also for admission).
func TestRegistrations(t *testing.T) {
	elsewhere := registration("c", "elsewhere", "registry.example/c:0.7.1")
	elsewhere.Namespace = "ai"
	c := newCluster(t, registration("a", "one", "registry.example/a:0.7.1"), registration("b", "two", "registry.example/b:0.7.1"), elsewhere)
	g := newGatherer(c, c)
	g.Store = gather.NewSettingsStoreOf(c, operatorNamespace)
	expect := func(name, want string, reads int) {
		t.Helper()
		before := c.reads["ConfigMap/a"] + c.reads["ConfigMap/b"]
		got, problems := g.Gather(t.Context(), resourceWithName(name))
		in, _ := g.GatherForAdmission(t.Context(), resourceWithName(name))
		live, _ := g.GatherForAdmissionLive(t.Context(), resourceWithName(name))
		if refused := problems.HasErrors(); (in.Distribution == nil) != refused || (live.Distribution == nil) != refused {
			t.Errorf("%s: the reconcile: %v; admission: %v, live: %v", name, problems, in.Distribution, live.Distribution)
		}
		var image string
		if problems.HasErrors() {
			image = string(problems[0].Reason)
		} else {
			image = got.Inputs.Distribution.Image
		}
		if image != want {
			t.Errorf("%s: %s, want %s", name, image, want)
		}
		if got := c.reads["ConfigMap/a"] + c.reads["ConfigMap/b"] - before; got != reads {
			t.Errorf("%s: %d ConfigMaps were read, want %d", name, got, reads)
		}
	}
	expect("one", "registry.example/a:0.7.1", 2)
	expect("two", "registry.example/b:0.7.1", 0)
	expect("elsewhere", string(problem.UnknownDistribution), 0)
	one := registration("a", "one", "registry.example/a:0.7.2")
	if err := c.Update(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	expect("one", "registry.example/a:0.7.2", 1)
	delete(one.Labels, settings.LabelDistribution)
	if err := c.Update(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	expect("one", string(problem.UnknownDistribution), 0)
	if err := c.Update(t.Context(), registration("b", "two", "")); err != nil {
		t.Fatal(err)
	}
	expect("two", string(problem.InvalidOperatorSettings), 1)
	if problems, p := g.Settings(t.Context()); p != nil || len(problems) != 1 || problems[0].ConfigMap != "b" {
		t.Errorf("%v, %v", problems, p)
	}
	if err := c.Delete(t.Context(), registration("b", "two", "")); err != nil {
		t.Fatal(err)
	}
	expect("two", string(problem.UnknownDistribution), 0)

	c.fails["PartialObjectMetadataList"] = errTimeout
	if _, problems := newGatherer(c, c).Gather(t.Context(), resourceWithName("z")); !problems.Has(problem.Transient) {
		t.Errorf("ConfigMaps cannot be listed: %v", problems)
	}
}

// Proves: R81 (a ConfigMap that has the label for another reason, as those of Open Data Hub, does not register a
// distribution: nothing reports it, it does not count, and it is read once).
func TestForeignConfigMapsWithTheLabelAreNotRegistrations(t *testing.T) {
	all := []client.Object{registration("z", "starter", "registry.example/z:0.7.1")}
	for i := range limits.Registrations + 1 {
		foreign := registration(fmt.Sprintf("lsd-%03d", i), "starter", "")
		foreign.Data = map[string]string{"config.yaml": "version: 2\n", "run.yaml": "not: [YAML"}
		all = append(all, foreign)
	}
	c := newCluster(t, all...)
	g := newGatherer(c, c)
	g.Store = gather.NewSettingsStoreOf(c, operatorNamespace)
	check := func(want string, reads int) {
		t.Helper()
		got, problems := g.Gather(t.Context(), resourceWithName("starter"))
		if problems.HasErrors() || got.Inputs.Distribution.Image != want || c.reads["ConfigMap/lsd-000"] != reads {
			t.Errorf("%v, %d reads", problems, c.reads["ConfigMap/lsd-000"])
		}
		if problems, p := g.Settings(t.Context()); p != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, p)
		}
	}
	check("registry.example/z:0.7.1", 1)
	if err := c.Update(t.Context(), registration("z", "starter", "registry.example/z:0.7.2")); err != nil {
		t.Fatal(err)
	}
	check("registry.example/z:0.7.2", 1)
	// It becomes a registration when it gets a key of one.
	if err := c.Update(t.Context(), registration("lsd-000", "other", "")); err != nil {
		t.Fatal(err)
	}
	if problems, p := g.Settings(t.Context()); p != nil || len(problems) != 1 || problems[0].ConfigMap != "lsd-000" {
		t.Errorf("%v, %v", problems, p)
	}
}

// Proves: R7, R81 (concurrent readers cause one parse).
func TestSettingsAreParsedOnceForAll(t *testing.T) {
	c := newCluster(t, registration("a", "one", "registry.example/a:0.7.1"))
	store := gather.NewSettingsStoreOf(&oneAtATime{Reader: c}, operatorNamespace)
	if store.Current() != nil {
		t.Error("settings that were not read")
	}
	var reading sync.WaitGroup
	for range 8 {
		reading.Go(func() {
			if problems, p := (&gather.Gatherer{Store: store}).Settings(t.Context()); p != nil || len(problems) > 0 {
				t.Errorf("%v, %v", problems, p)
			}
		})
	}
	reading.Wait()
	first := store.Current()
	if _, p := (&gather.Gatherer{Store: store}).Settings(t.Context()); p != nil || first == nil || store.Current() != first {
		t.Errorf("parsed again: %p, %p, %v", first, store.Current(), p)
	}
}

// oneAtATime serializes the counted reads.
type oneAtATime struct {
	sync.Mutex
	client.Reader
}

func (o *oneAtATime) Get(ctx context.Context, key client.ObjectKey, to client.Object, options ...client.GetOption) error {
	o.Lock()
	defer o.Unlock()
	return o.Reader.Get(ctx, key, to, options...)
}

func (o *oneAtATime) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	o.Lock()
	defer o.Unlock()
	return o.Reader.List(ctx, list, options...)
}

// Proves: R63, R81 (registrations over the bound are reported and not read).
func TestRegistrationsHaveABound(t *testing.T) {
	var all []client.Object
	for i := range limits.Registrations + 2 {
		all = append(all, registration(fmt.Sprintf("r-%03d", i), fmt.Sprintf("r-%03d", i), "registry.example/r:0.7.1"))
	}
	c := newCluster(t, all...)
	g := newGatherer(c, c)
	g.Store = gather.NewSettingsStoreOf(c, operatorNamespace)
	problems, p := g.Settings(t.Context())
	if p != nil || len(problems) != 2 || problems[0].ConfigMap != "r-100" || problems[1].ConfigMap != "r-101" {
		t.Fatalf("%v, %v", problems, p)
	}
	if reads := c.reads["ConfigMap/r-100"] + c.reads["ConfigMap/r-101"]; reads > 0 || c.reads["ConfigMap/r-000"] != 1 {
		t.Errorf("%d reads of those above the bound, %d of the first", reads, c.reads["ConfigMap/r-000"])
	}
	if err := c.Delete(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	if problems, p := g.Settings(t.Context()); p != nil || len(problems) != 1 {
		t.Errorf("after one is gone: %v, %v", problems, p)
	}
}

// Proves: R7, R63, R81 (configurations over the bound are reported and not used, and nothing is read again).
func TestRegisteredConfigurationsHaveABoundTogether(t *testing.T) {
	var all []client.Object
	for i := range 4 {
		cm := registration(fmt.Sprint("r-", i), fmt.Sprint("r-", i), "registry.example/r:0.7.1")
		cm.Data["config.yaml"] = "version: 2\nproviders: {}\nx: [" + strings.Repeat("a,", limits.RegisteredBytes/limits.ValueBytes/3) + "a]\n"
		all = append(all, cm)
	}
	small := registration("z", "z", "registry.example/r:0.7.1")
	c := newCluster(t, append(all, small)...)
	g := newGatherer(c, c)
	g.Store = gather.NewSettingsStoreOf(c, operatorNamespace)
	complain := func(want ...string) {
		t.Helper()
		for range 2 {
			problems, p := g.Settings(t.Context())
			var got []string
			for _, one := range problems {
				if strings.Contains(one.Err.Error(), "exceed 20 MB of memory together") {
					got = append(got, one.ConfigMap)
				} else if !one.Warning {
					t.Error(one.Err)
				}
			}
			if p != nil || !slices.Equal(got, want) {
				t.Fatalf("%v, %v, want %v", problems, p, want)
			}
		}
	}
	complain("r-2", "r-3")
	if reads := c.reads["ConfigMap/r-3"]; reads != 1 {
		t.Errorf("%d reads of what is too large", reads)
	}
	if err := c.Delete(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	complain("r-3")
}

// Proves: R63, R81 (the bytes of the texts are bounded).
func TestRegisteredTextsHaveABoundTogether(t *testing.T) {
	var all []client.Object
	for i := range 3 + limits.RegisteredBytes/limits.ConfigBytes {
		cm := registration(fmt.Sprintf("r-%03d", i), fmt.Sprint("r-", i), "registry.example/r:0.7.1")
		cm.Data["config.yaml"] = "version: 2\nproviders: {}\nx: " + strings.Repeat("a", limits.ConfigBytes-100) + "\n"
		all = append(all, cm)
	}
	problems, p := newGatherer(newCluster(t, all...), nil).Settings(t.Context())
	problems = slices.DeleteFunc(problems, func(p settings.Problem) bool { return p.Warning })
	if p != nil || len(problems) != 4 || problems[0].ConfigMap != "r-019" {
		t.Errorf("%d problems: %v, %v", len(problems), problems, p)
	}
}

// Proves: R88 (what a server ignores in a registered base is reported once, for the registration).
func TestSettingsReportWhatAServerIgnoresInABase(t *testing.T) {
	cm := registration("r", "r", "registry.example/r:1.5.0")
	cm.Data["config.yaml"] = "version: 2\ndistro_name: r\nproviders: {}\nstorage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}\nmodels: []\n"
	c := newCluster(t, cm)
	problems, p := newGatherer(c, c).Settings(t.Context())
	if p != nil || len(problems) != 1 || problems[0].ConfigMap != "r" || !problems[0].Warning ||
		!strings.Contains(problems[0].Err.Error(), "config.yaml:5:9: models: the server ignores this") {
		t.Errorf("%v, %v", problems, p)
	}
}

// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/inventory"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

func parse(t *testing.T, text string) *serverconfig.Base {
	t.Helper()
	base, err := serverconfig.ParseBase("base", []byte("version: 2\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// A provider is enabled, conditional on a variable, or known only to the image. Providers of the spec come first.
func TestProvidersReportStateAndSource(t *testing.T) {
	base := parse(t, `providers:
  inference:
  - {provider_id: '${env.OFF:+off}', provider_type: remote::vllm}
  - {provider_id: '${env.GIVEN:+given}', provider_type: remote::vllm}
  - {provider_id: plain, provider_type: remote::vllm}
  - {provider_id: '${env.OWN:=__disabled__}', provider_type: remote::vllm}
  - {provider_id: __disabled__, provider_type: remote::vllm}
  - {provider_id: mine, provider_type: remote::vllm}
  - {provider_id: ours, provider_type: remote::x, module: x}
  safety:
  - {provider_id: mine, provider_type: inline::x}
`)
	c := &inventory.Config{Base: base, Variables: document.Variables{"GIVEN": true}}
	got := c.Providers(step.Spec(t, "providers: {inference: {id: mine, provider: vllm}}\nexternalProviders: {inference: {providerId: ours, image: i}}"))
	want := []inventory.Provider{
		{API: "inference", ID: "mine", Type: "remote::vllm", From: "spec", State: inventory.On},
		{API: "inference", ID: "ours", Type: "remote::x", From: "spec", State: inventory.On},
		{API: "inference", ID: "given", Type: "remote::vllm", From: "base", State: inventory.On, Variable: "GIVEN"},
		{API: "inference", ID: "plain", Type: "remote::vllm", From: "base", State: inventory.On},
		{API: "safety", ID: "mine", Type: "inline::x", From: "base", State: inventory.On},
		{API: "inference", ID: "off", Type: "remote::vllm", From: "base", State: inventory.Off, Variable: "OFF"},
		{API: "inference", ID: "${env.OWN:=__disabled__}", Type: "remote::vllm", From: "base", State: inventory.Unknown, Variable: "OWN"},
		{API: "inference", ID: "__disabled__", Type: "remote::vllm", From: "base", State: inventory.Off},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := (&inventory.Config{}).Providers(step.Spec(t, "providers: {inference: {provider: vllm}}")); got != nil {
		t.Errorf("of an unknown configuration: %v", got)
	}
	// A provider of the spec counts as enabled only if the configuration has it, whatever the base has of that id.
	c.Unapplied = true
	for _, id := range []string{"mine", "off", "new"} {
		got := c.Providers(step.Spec(t, "providers: {inference: {id: '"+id+"', provider: vllm}}"))[0]
		if got.ID != id || got.State != inventory.Pending || got.From != "spec" {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// The names are those that clients use.
func TestModelsExcludeDisabledProviders(t *testing.T) {
	base := parse(t, `providers:
  inference:
  - {provider_id: v, provider_type: remote::vllm}
  - {provider_id: '${env.OFF:+off}', provider_type: remote::vllm}
registered_resources:
  models:
  - {model_id: e, provider_id: v, model_type: embedding}
  - {model_id: chat, provider_id: v, provider_model_id: served}
  - {provider_id: v}
  - {model_id: '${env.M}', provider_id: v}
  - {model_id: unserved}
  - {model_id: switched, provider_id: '${env.OFF:+v}'}
  - {model_id: of-one-that-is-off, provider_id: off}
  - {model_id: of-an-unknown-one, provider_id: gone}
`)
	line := &catalog.Line{}
	models := (&inventory.Config{Base: base, Line: line, Variables: document.Variables{}}).Models()
	want := []inventory.Model{{Name: "v/e", Type: "embedding"}, {Name: "v/served", Type: "llm"}, {Name: "gone/of-an-unknown-one", Type: "llm"}}
	if diff := cmp.Diff(want, models); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := inventory.FirstChat(models); got != "v/served" {
		t.Errorf("the first model that can chat is %q", got)
	}
	if got := inventory.FirstChat(models[:1]); got != "" {
		t.Errorf("%q can chat", got)
	}
	for _, unknown := range []inventory.Config{{Base: base}, {Line: line}} {
		if got := unknown.Models(); got != nil {
			t.Errorf("models %v", got)
		}
	}
}

// The generated configuration takes precedence over spec.overrideConfig, and that over the distribution's own.
func TestFromBuildUsesConfigurationOfTheServer(t *testing.T) {
	text := func(id string) []byte {
		return []byte("version: 2\nproviders: {inference: [{provider_id: " + id + ", provider_type: remote::vllm}]}\n")
	}
	line := &catalog.Line{Name: "x"}
	own := &settings.Distribution{Line: line, Base: parse(t, "providers: {inference: [{provider_id: own, provider_type: remote::vllm}]}\n")}
	for want, d := range map[string]*build.Desired{
		"generated": {Distribution: own, Config: &serverconfig.Result{YAML: text("generated")}, Override: &serverconfig.Override{}, OverrideContent: text("override")},
		"override":  {Distribution: own, Override: &serverconfig.Override{}, OverrideContent: text("override")},
		"own":       {Distribution: own},
	} {
		c, err := inventory.FromBuild(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Providers(step.Spec(t, "{}")); len(got) != 1 || got[0].ID != want || c.Line != line {
			t.Errorf("%s: %v", want, got)
		}
	}
	if c, err := inventory.FromBuild(&build.Desired{}); err != nil || c.Base != nil || c.Line != nil {
		t.Errorf("of an unknown image: %+v, %v", c, err)
	}
	if _, err := inventory.FromBuild(&build.Desired{Config: &serverconfig.Result{YAML: []byte("a: [")}}); err == nil {
		t.Error("a configuration that cannot be read is no error")
	}
}

// An empty variable counts as unset, and one of a sidecar is not the server's.
func TestPodVariablesReturnsVariablesOfTheServer(t *testing.T) {
	deployment := &appsv1.Deployment{}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{
		{Env: []corev1.EnvVar{{Name: "A", Value: "x"}, {Name: "EMPTY"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{}}}}, {Env: []corev1.EnvVar{{Name: "C", Value: "x"}}},
	}
	c, err := inventory.FromBuild(&build.Desired{Objects: []objects.Object{&corev1.Service{}, deployment}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document.Variables{"A": true, "B": true}, c.Variables); diff != "" {
		t.Error(diff)
	}
}

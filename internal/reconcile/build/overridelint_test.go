// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R88 (warnings with line and column, worst first; the file runs as it is).
func TestOverrideIsComparedWithItsRelease(t *testing.T) {
	in := overriding(t)
	in.Distribution.Line, _ = catalog.Get("1.5")
	in.Override.Content = []byte(complete + `server: {insecure: true}
models: []
apis: [inference]
distro_name: ${env.PROVIDERS}
connectors:
- {connector_id: a, url: "http://a"}
`)
	in.Override.Content = []byte(strings.Replace(string(in.Override.Content), "providers: {}", `providers:
  inference:
  - provider_id: vllm
    provider_type: remote::vlm
  - provider_id: openai
    provider_type: remote::openai
    config: {api_key: sk-plain, ulr: x}`, 1))
	got := map[problem.Reason][]string{}
	d := build(t, in)
	for i, w := range d.Warnings {
		got[w.Reason] = append(got[w.Reason], w.String())
		if w.Severity != problem.Warning || i > 0 && w.Reason == problem.InvalidConfigMap && d.Warnings[i-1].Reason != w.Reason {
			t.Errorf("%d: %s", i, w.String())
		}
	}
	for reason, want := range map[problem.Reason][]string{
		problem.InvalidConfigMap: {
			`config.yaml:6:20: providers.inference[0].provider_type: the server does not start with this: ` +
				`release line 1.5 has no type "remote::vlm" of inference providers: did you mean "remote::vllm"?`,
			`config.yaml:14:14: distro_name: the server does not start with this: nothing sets the environment variable PROVIDERS`,
		},
		problem.NoEffect: {
			`config.yaml:9:38: providers.inference[1].config.ulr: the server ignores this: release line 1.5 has no such field`,
			`config.yaml:12:9: models: the server ignores this: release line 1.5 has no such field`,
		},
		problem.LiteralSecret: {`config.yaml:9:23: providers.inference[1].config.api_key: is a secret`},
	} {
		for _, text := range want {
			if !slices.ContainsFunc(got[reason], func(s string) bool { return strings.HasPrefix(s, text) }) {
				t.Errorf("%s: no %q in %q", reason, text, got[reason])
			}
		}
	}
	if strings.Contains(d.Warnings.Message(), "sk-plain") {
		t.Error("a warning has the value of a key")
	}
	in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{Env: []corev1.EnvVar{{Name: "PROVIDERS", Value: "/a"}}}}
	if d := build(t, in); strings.Contains(d.Warnings.Message(), "PROVIDERS") {
		t.Error("a variable of the spec counts as unset")
	}
	in.Distribution.Line = nil
	if d := build(t, in); strings.Contains(d.Warnings.Message(), "config.yaml:") {
		t.Errorf("without a release: %s", d.Warnings.Message())
	}
}

// Proves: R88 (a server that would be open although its file has authentication is not exposed).
func TestOverrideWithMisplacedAuthIsNotExposed(t *testing.T) {
	for content, refused := range map[string]bool{
		complete + "server: {}\nauth: {provider_config: {type: custom}}\n":                    true,
		complete + "server: {auth: {provider_config: {type: custom, endpoint: https://a}}}\n": false,
	} {
		in := overriding(t)
		in.Override.Content = []byte(content)
		if d := build(t, in); d.ConfigMapName == "" {
			t.Errorf("%s: not used although nothing exposes it", content)
		}
		in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{Expose: &apiextensionsv1.JSON{Raw: []byte("true")}}
		in.Spec = nil
		_, faults := buildWith(t.Context(), in)
		if got := faults.Message(); strings.Contains(got, "authentication where no server reads it") != refused {
			t.Errorf("%s: %q", content, got)
		}
	}
}

// Proves: R88 (the same holds for a base, unless the spec has authentication).
func TestBaseWithMisplacedAuthIsNotExposed(t *testing.T) {
	for name, c := range map[string]struct {
		base    string
		auth    bool
		refused bool
	}{
		"misplaced":             {"auth: {provider_config: {type: custom, endpoint: https://a}}\n", false, true},
		"misplaced, and a spec": {"auth: {provider_config: {type: custom, endpoint: https://a}}\n", true, false},
		"right":                 {"server: {auth: {provider_config: {type: custom, endpoint: https://a}}}\n", false, false},
	} {
		in := inputs(t, "distribution-only")
		in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{Expose: &apiextensionsv1.JSON{Raw: []byte("true")}}
		in.CR.Spec.Disabled = []string{"eval"}
		if c.auth {
			in.CR.Spec.Auth = &v1alpha2.AuthSpec{Provider: new("kubernetes")}
		}
		base, err := serverconfig.ParseBase("mine", []byte(complete+c.base))
		framework.NoError(t, err)
		in.Distribution.Base = base
		_, faults := buildWith(t.Context(), in)
		if got := faults.Message(); strings.Contains(got, "authentication where no server reads it") != c.refused {
			t.Errorf("%s: %q", name, got)
		}
	}
}

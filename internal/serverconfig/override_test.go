// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Proves: R39, R45, FR-027g (values from variables count unless their default is empty).
func TestReadOverride(t *testing.T) {
	for text, want := range map[string]Override{
		"version: 2\n":   {Version: 2},
		"version: '1'\n": {Version: 1},
		"{}":             {},
		"version: 2\nversion_of_mine: x\nserver: {tls_certfile: /a}":                   {Version: 2, TLS: TLS{CertificateFile: "/a"}},
		"server: {tls_certfile: /a, tls_keyfile: /b}":                                  {TLS: TLS{CertificateFile: "/a", KeyFile: "/b"}},
		"server: {tls_certfile: '${env.C}', tls_keyfile: '${env.K}'}":                  {TLS: TLS{CertificateFile: "${env.C}", KeyFile: "${env.K}"}},
		"server: {tls_certfile: '${env.C:=}', tls_keyfile: '${env.K:=}'}":              {},
		"server: {tls_certfile: null, tls_keyfile: ~, insecure: true, auth: {a: [b]}}": {Insecure: true},
		"server: {tls_certfile: /a, tls_keyfile: /b, tls_cafile: /c}":                  {TLS: TLS{CertificateFile: "/a", KeyFile: "/b", ClientCAFile: "/c"}},
		"server: {tls_cafile: /c}":                                                     {TLS: TLS{ClientCAFile: "/c"}},
		"server: {auth: {provider_config: {type: custom, endpoint: x}}}":               {Auth: Auth{Type: "custom"}},
		"server: {insecure: false}":                                                    {},
	} {
		got, err := ReadOverride([]byte(text))
		if err != nil || *got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                "empty",
		"- a":             "not a map",
		"a: [":            "not YAML",
		"a: b\n---\nc: d": "second document",
	} {
		if _, err := ReadOverride([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something about %q", text, err, want)
		}
	}
}

// Proves: FR-013, US-6.2, R31 (empty sections exclude nothing; the API server is stricter for open fields).
func TestExcluded(t *testing.T) {
	spec := &v1alpha2.LlamaStackDistributionSpec{
		Providers: &v1alpha2.ProvidersSpec{}, Resources: &v1alpha2.ResourcesSpec{}, Storage: &v1alpha2.StateStorageSpec{}, Disabled: []string{},
		Auth: &v1alpha2.AuthSpec{Settings: &apiextensionsv1.JSON{Raw: []byte(`{}`)}},
	}
	if got := Excluded(spec); got != nil {
		t.Errorf("without overrideConfig: %v", got)
	}
	spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "x"}
	if got := Excluded(spec); got != nil {
		t.Errorf("with empty sections: %v", got)
	}
	raw := apiextensionsv1.JSON{Raw: []byte(`{"provider":"vllm"}`)}
	spec.Providers.Inference, spec.Resources.Models = &raw, []apiextensionsv1.JSON{raw}
	spec.Storage.KV, spec.Disabled = &v1alpha2.KVStorageSpec{}, []string{"eval"}
	spec.Auth = &v1alpha2.AuthSpec{RoutePolicy: []apiextensionsv1.JSON{{Raw: []byte(`{}`)}}}
	spec.ExternalProviders = &apiextensionsv1.JSON{Raw: []byte(`{"inference":[{}]}`)}
	want := []string{"spec.providers", "spec.resources", "spec.storage", "spec.disabled", "spec.auth"}
	if got := Excluded(spec); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// Each field of a section is enough.
	list := []apiextensionsv1.JSON{raw}
	for want, specs := range map[string][]v1alpha2.LlamaStackDistributionSpec{
		"spec.resources": {
			{Resources: &v1alpha2.ResourcesSpec{Models: list}}, {Resources: &v1alpha2.ResourcesSpec{Tools: list}}, {Resources: &v1alpha2.ResourcesSpec{Shields: list}},
		},
		"spec.storage": {
			{Storage: &v1alpha2.StateStorageSpec{KV: &v1alpha2.KVStorageSpec{}}}, {Storage: &v1alpha2.StateStorageSpec{SQL: &v1alpha2.SQLStorageSpec{}}},
		},
		"spec.auth": {
			{Auth: &v1alpha2.AuthSpec{Provider: new("github")}}, {Auth: &v1alpha2.AuthSpec{AccessPolicy: list}}, {Auth: &v1alpha2.AuthSpec{RoutePolicy: list}},
			{Auth: &v1alpha2.AuthSpec{Settings: &raw}}, {Auth: &v1alpha2.AuthSpec{SecretRefs: &raw}}, {Auth: &v1alpha2.AuthSpec{Tenancy: &raw}},
		},
	} {
		for i := range specs {
			specs[i].OverrideConfig = spec.OverrideConfig
			if got := Excluded(&specs[i]); !slices.Equal(got, []string{want}) {
				t.Errorf("field %d of %s: %v", i, want, got)
			}
		}
	}
}

// Proves: R21, R45 (the file gets workers, and a host if the release line needs one; other files are not edited).
func TestWithWorkers(t *testing.T) {
	for name, c := range map[string]struct {
		line *catalog.Line
		want string
	}{
		"an address for several workers": {&catalog.Line{HostForWorkers: true}, "# h\na: ${env.B}\nserver:\n  workers: 2\n  host: '::'\n"},
		"no address":                     {&catalog.Line{}, "# h\na: ${env.B}\nserver:\n  workers: 2\n"},
		"no line":                        {nil, "# h\na: ${env.B}\nserver:\n  workers: 2\n"},
	} {
		got, err := WithWorkers(t.Context(), []byte("a: ${env.B} # b\n"), c.line, 2, "# h\n")
		if strings.ReplaceAll(string(got), `"`, "'") != c.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	if _, err := WithWorkers(t.Context(), []byte("providers: {inference: x}"), nil, 2, ""); err == nil {
		t.Error("a file of another shape is edited")
	}
}

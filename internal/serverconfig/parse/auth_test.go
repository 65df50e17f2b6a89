// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

func openJSON(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// Both forms of a secret reference are accepted, and null counts as absent.
//
// Proves: R2, R83.
func TestParseAuth(t *testing.T) {
	got, problems := parseAuth(&v1alpha2.AuthSpec{
		Provider:   new(" oauth2 "),
		Settings:   openJSON(`{"audience": "a", "issuer": null, "jwks": {"key_recheck_period": 600}}`),
		SecretRefs: openJSON(`{"jwks.token": {"name": "s", "key": "k"}, "a.b": {"secretKeyRef": {"name": "s", "key": "l"}}}`),
		RoutePolicy: []apiextensionsv1.JSON{
			*openJSON(`{"permit": {"paths": "*"}}`),
		},
		Tenancy: openJSON(`{"mode": "single"}`),
	})
	want := &Auth{
		Type:     "oauth2",
		Settings: map[string]any{"audience": "a", "jwks": map[string]any{"key_recheck_period": int64(600)}},
		SecretRefs: []SecretField{
			{Field: "a.b", Ref: SecretReference{Name: "s", Key: "l"}, Path: "spec.auth.secretRefs[a.b]"},
			{Field: "jwks.token", Ref: SecretReference{Name: "s", Key: "k"}, Path: "spec.auth.secretRefs[jwks.token]"},
		},
		RoutePolicy: []Rule{{Fields: map[string]any{"permit": map[string]any{"paths": "*"}}, Path: "spec.auth.routePolicy[0]"}},
		Tenancy:     map[string]any{"mode": "single"},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 {
		t.Errorf("%s\n%s", diff, problems.Message())
	}
}

// Proves: R31.
func TestParseAuthTreatsEmptyAsAbsent(t *testing.T) {
	for name, spec := range map[string]*v1alpha2.AuthSpec{
		"absent": nil, "empty": {}, "empty parts": {Provider: new(""), Settings: openJSON("{}"), SecretRefs: openJSON("null"), AccessPolicy: []apiextensionsv1.JSON{}},
	} {
		if got, problems := parseAuth(spec); got != nil || len(problems) > 0 {
			t.Errorf("%s: %+v, %s", name, got, problems.Message())
		}
	}
}

// Proves: R31.
func TestParseAuthKeepsASinglePart(t *testing.T) {
	rule := []apiextensionsv1.JSON{*openJSON(`{"permit": {}}`)}
	for name, spec := range map[string]v1alpha2.AuthSpec{
		"type": {Provider: new("oauth2")}, "settings": {Settings: openJSON(`{"a": 1}`)}, "secretRefs": {SecretRefs: openJSON(`{"a": {"name": "s", "key": "k"}}`)},
		"accessPolicy": {AccessPolicy: rule}, "routePolicy": {RoutePolicy: rule}, "tenancy": {Tenancy: openJSON(`{"mode": "single"}`)},
	} {
		if got, problems := parseAuth(&spec); got == nil {
			t.Errorf("%s alone is taken for nothing: %s", name, problems.Message())
		}
	}
}

// Proves: R74, R7 (the message has the path, but not the value).
func TestParseAuthReportsInvalidTypes(t *testing.T) {
	_, problems := parseAuth(&v1alpha2.AuthSpec{
		Settings: openJSON(`"hunter2"`), SecretRefs: openJSON(`{"a": "hunter2", "b": {"name": "s"}}`), Tenancy: openJSON(`[1]`),
		AccessPolicy: []apiextensionsv1.JSON{*openJSON(`{}`), *openJSON(`7`)}, RoutePolicy: []apiextensionsv1.JSON{*openJSON(`["x"]`)},
	})
	want := []string{
		"spec.auth.settings", "spec.auth.tenancy", "spec.auth.secretRefs[a]", "spec.auth.secretRefs[b].key", "spec.auth.accessPolicy[1]", "spec.auth.routePolicy[0]",
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.Path)
		if strings.Contains(p.String(), "hunter2") {
			t.Errorf("a value is shown: %s", p)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Proves: R63.
func TestCheckBoundsLimitsPolicies(t *testing.T) {
	rules := make([]apiextensionsv1.JSON, limits.PolicyRules+1)
	spec := &v1alpha2.LlamaStackDistributionSpec{Auth: &v1alpha2.AuthSpec{RoutePolicy: rules}}
	if got := CheckLimits(spec).Message(); !strings.Contains(got, "spec.auth.routePolicy: Too many: 201: must have at most 200 items") {
		t.Errorf("got %q", got)
	}
	spec.Auth.RoutePolicy = rules[1:]
	if problems := CheckLimits(spec); len(problems) > 0 {
		t.Errorf("200 rules: %s", problems.Message())
	}
	deep := openJSON(strings.Repeat(`{"a":`, 70) + "0" + strings.Repeat("}", 70))
	spec.Auth = &v1alpha2.AuthSpec{Settings: deep}
	if got := CheckLimits(spec).Message(); !strings.Contains(got, "must nest at most 64 levels") {
		t.Errorf("deep settings: %q", got)
	}
}

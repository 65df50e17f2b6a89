// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/auth"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// invented returns the newest release line with authentication types that no server has.
func invented(t *testing.T) *catalog.Line {
	t.Helper()
	line := step.Newest(t)
	line.VerifiesAuthTLS = true
	line.Auth = []catalog.AuthType{
		{Type: "keyed", Secrets: []string{"secret"}, Fields: map[string]catalog.Field{
			"secret": {Type: catalog.TypeString}, "verify_tls": {Type: catalog.TypeBool},
		}},
		{Type: "open", Fields: map[string]catalog.Field{"free": {Type: catalog.TypeInt}}},
		{Type: "tokens", OneOf: []string{"jwks", "other"}, Fields: map[string]catalog.Field{
			"issuer": {Type: catalog.TypeString}, "jwks": {Type: catalog.TypeString}, "other": {Type: catalog.TypeString},
		}},
	}
	return line
}

// applied applies spec.auth to a base and returns the server section and the problems with their fixes.
func applied(t *testing.T, line *catalog.Line, sections string, spec *parse.Auth) (string, string) {
	t.Helper()
	doc, problems := step.Document(t, sections), &problem.Collector{}
	auth.Apply(doc, line, spec, environment.NewSet(step.Spec(t, "{}")), problems)
	return step.Section(t, step.Text(t, doc), "server"), problems.List().Message()
}

func secret(field string) []parse.SecretField {
	return []parse.SecretField{{Field: field, Ref: parse.SecretReference{Name: "s", Key: "k"}, Path: "spec.auth.secretRefs[" + field + "]"}}
}

// Access rules and tenancy separate users. ClusterCA needs the cluster's own CA file.
//
// Proves: R24.
func TestReadReturnsPropertiesOfAConfiguration(t *testing.T) {
	for text, want := range map[string]auth.Auth{
		"": {},
		"server: {auth: {provider_config: {type: a, tls_cafile: " + auth.ClusterCAFile + "}}}\n": {Type: "a", ClusterCA: true},
		"server: {auth: {provider_config: {type: a, tls_cafile: /mine}, access_policy: []}}\n":   {Type: "a"},
		"server: {auth: {access_policy: [{permit: {actions: [read]}}]}}\n":                       {SeparatesUsers: true},
		"server: {tenancy: {mode: multi}}\n":                                                     {SeparatesUsers: true},
		"server: {tenancy: {mode: single}}\n":                                                    {},
	} {
		if got := auth.Read(step.Document(t, text).Root()); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestApplyWritesEachPolicy(t *testing.T) {
	const base = "server: {auth: {provider_config: {type: open}}}\n"
	access := []parse.Rule{{Fields: map[string]any{"permit": map[string]any{"actions": []any{"read"}}}, Path: "spec.auth.accessPolicy[0]"}}
	routes := []parse.Rule{{Fields: map[string]any{"permit": map[string]any{"paths": "*"}}, Path: "spec.auth.routePolicy[0]"}}
	const provider, writtenAccess, writtenRoutes = `"provider_config":{"type":"open"}`, `"access_policy":[{"permit":{"actions":["read"]}}]`, `"route_policy":[{"permit":{"paths":"*"}}]`
	for want, spec := range map[string]*parse.Auth{
		provider:                       {},
		writtenAccess + "," + provider: {AccessPolicy: access},
		provider + "," + writtenRoutes: {RoutePolicy: routes},
		writtenAccess + "," + provider + "," + writtenRoutes: {AccessPolicy: access, RoutePolicy: routes},
	} {
		if got, problems := applied(t, invented(t), base, spec); got != `{"auth":{`+want+`}}` || problems != "" {
			t.Errorf("got %s, want %s; %s", got, want, problems)
		}
	}
	for _, name := range catalog.Lines() {
		if _, problems := applied(t, step.Line(t, name), "", &parse.Auth{}); strings.Contains(problems, "spec.auth.provider") {
			t.Errorf("%s: nothing that is asked for needs a type: %s", name, problems)
		}
	}
}

// A secret is written only to a field of the type, and the error lists the type's fields.
//
// Proves: R7, R34, FR-075.
func TestApplyAcceptsSecretsOfType(t *testing.T) {
	got, problems := applied(t, invented(t), "", &parse.Auth{Type: "keyed", SecretRefs: secret("secret")})
	if want := `{"auth":{"provider_config":{"secret":"${env.LLSD_AUTH_SECRET}","type":"keyed"}}}`; got != want || problems != "" {
		t.Errorf("%s, want %s; %s", got, want, problems)
	}
	for want, spec := range map[string]*parse.Auth{
		"it takes secret":                       {Type: "keyed", SecretRefs: secret("verify_tls")},
		`did you mean "secret"?`:                {Type: "keyed", SecretRefs: secret("secrets")},
		"it has no secret fields":               {Type: "open", SecretRefs: secret("free")},
		"is also in settings: keep one of them": {Type: "keyed", SecretRefs: secret("secret"), Settings: map[string]any{"secret": "${env.MINE}"}},
	} {
		if _, problems := applied(t, invented(t), "", spec); !strings.HasSuffix(problems, want) {
			t.Errorf("%s, want %s", problems, want)
		}
	}
}

// The server does not start if TLS verification is off, so each way to disable it is rejected.
//
// Proves: R25.
func TestApplyRejectsDisabledVerification(t *testing.T) {
	for value, refused := range map[any]bool{false: true, "No": true, "0": true, int64(0): true, true: false, "yes": false, int64(1): false} {
		_, problems := applied(t, invented(t), "", &parse.Auth{Type: "keyed", Settings: map[string]any{"verify_tls": value}})
		if strings.Contains(problems, "verify_tls: Forbidden") != refused {
			t.Errorf("%v: %s", value, problems)
		}
	}
}

// The message derives the address of the keys from the issuer only for a short, plain URL.
//
// Proves: R63, FR-075.
func TestApplySuggestsKeyURLOfIssuer(t *testing.T) {
	longest := "https://" + strings.Repeat("i", 192)
	for issuer, want := range map[string]string{
		"https://dex/": "https://dex/keys", longest: longest + "/keys", longest + "i": "<issuer>/keys",
		"https://dex?a=b": "<issuer>/keys", "https://dex#a": "<issuer>/keys", "dex": "<issuer>/keys", "https://d ex": "<issuer>/keys",
	} {
		_, problems := applied(t, invented(t), "", &parse.Auth{Type: "tokens", Settings: map[string]any{"issuer": issuer}})
		if !strings.Contains(problems, "with dex "+want+",") {
			t.Errorf("%s: %s", issuer, problems)
		}
	}
}

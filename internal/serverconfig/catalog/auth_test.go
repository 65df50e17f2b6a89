// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Proves: R16, R25, R83.
func TestAuthTypesOfEachLine(t *testing.T) {
	for _, name := range Lines() {
		line := get(t, name)
		want := "custom github kubernetes oauth2"
		if Compare(name, "0.8") >= 0 {
			want += " upstream-header"
		}
		if Compare(name, "1.4") >= 0 {
			want = "api-key " + want
		}
		if got := strings.Join(line.AuthNames(), " "); got != want {
			t.Errorf("line %s has %s, want %s", name, got, want)
		}
		row, ok := line.AuthType("oauth2")
		full, same := line.AuthType("oauth2_token")
		if !ok || !same || row != full {
			t.Fatalf("line %s: the short and the full name mean %v and %v", name, row, full)
		}
		_, tenants := row.Fields["tenant_claim"]
		if wants := Compare(name, "1.2") >= 0; tenants != wants || (row.Tenant != "") != wants || line.VerifiesAuthTLS != wants {
			t.Errorf("line %s: tenant_claim %v, tenant from %q, refuses verify_tls: false %v; want all %v", name, tenants, row.Tenant, line.VerifiesAuthTLS, wants)
		}
		if wants := name == "1.2" || name == "1.3"; line.TenantsBreakPostgres != wants {
			t.Errorf("line %s: fails to keep what tenants own in PostgreSQL %v, want %v", name, line.TenantsBreakPostgres, wants)
		}
		if want := map[bool]string{false: "llama-stack", true: "ogx"}[Compare(name, "0.8") >= 0]; row.Fields["audience"].Default != want {
			t.Errorf("line %s: the default audience is %v, want %s", name, row.Fields["audience"].Default, want)
		}
		if secret, ok := line.AuthField(row, "introspection.client_secret"); !ok || !secret.Required || !secret.Secret {
			t.Errorf("line %s: introspection.client_secret is %+v", name, secret)
		}
		if _, ok := line.AuthField(row, "introspection.nothing"); ok {
			t.Errorf("line %s has an unknown field", name)
		}
		if _, ok := line.AuthFields()["route_policy"]; ok != (Compare(name, "0.5") >= 0) {
			t.Errorf("line %s: route_policy %v", name, ok)
		}
	}
	newest := get(t, Newest())
	custom, _ := newest.AuthType("custom")
	if diff := cmp.Diff([]string{"endpoint", "tenant_field"}, slices.Sorted(maps.Keys(custom.Fields))); diff != "" {
		t.Errorf("custom (-want +got):\n%s", diff)
	}
}

// Proves: R25, R83.
func TestRulesOfEachLine(t *testing.T) {
	for _, name := range Lines() {
		line := get(t, name)
		regex, unowned := Compare(name, "0.6") >= 0, Compare(name, "0.4") >= 0
		if r := line.Rules; r.RegexPaths != regex || r.RegexResources != regex || r.Unowned != unowned || !slices.Contains(r.Resources, "vector_store") {
			t.Errorf("line %s: %+v", name, r)
		}
	}
	if got := FirstLine(func(l *Line) bool { return l.Rules.RegexPaths }); got != "0.6" {
		t.Errorf("the first line with regular expressions is %q", got)
	}
	if got := FirstLine(func(*Line) bool { return false }); got != "" {
		t.Errorf("nothing is in line %q", got)
	}
}

func TestCheckFindsContradictionsInAuth(t *testing.T) {
	for want, rows := range map[string][]AuthType{
		"a follows b":   {{Type: "b"}, {Type: "a"}},
		"no such field": {{Type: "a", Secrets: []string{"x.y"}}},
		"unknown type":  {{Type: "a", Fields: map[string]Field{"x": {Type: "nothing"}}}},
	} {
		line := &Line{Name: "9.9", Package: "p", PortEnv: "P", Auth: rows}
		if err := line.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", rows, err, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// authCases returns a case for each authentication type of a release line, with all fields of its catalog row. If the
// server accepts only one of several fields, each of them has its own case.
func authCases(t *testing.T, line *catalog.Line) (cases []matrixCase) {
	t.Helper()
	for i := range line.Auth {
		row := &line.Auth[i]
		choices := row.OneOf
		if len(choices) == 0 {
			choices = []string{""}
		}
		for _, choice := range choices {
			cases = append(cases, authCase(t, line, row, choice))
		}
	}
	return cases
}

// authCase generates the config over the starter base. choice is the only field of row.OneOf that is set.
func authCase(t *testing.T, line *catalog.Line, row *catalog.AuthType, choice string) matrixCase {
	t.Helper()
	name := row.Type
	if choice != "" {
		name += " with " + choice
	}
	c := matrixCase{api: "auth", providerType: name, from: "starter", part: "server.auth", env: map[string]string{}}
	fields := maps.Clone(row.Fields)
	maps.DeleteFunc(fields, func(name string, _ catalog.Field) bool { return name != choice && slices.Contains(row.OneOf, name) })
	values := authValues(t, line, row, "", fields)
	auth := map[string]any{"provider": row.Names()[0], "settings": values.settings, "secretRefs": values.secretRefs}
	encoded, err := json.Marshal(map[string]any{"distribution": map[string]any{"name": "starter"}, "auth": auth})
	framework.NoError(t, err)
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	framework.NoError(t, yaml.UnmarshalStrict(encoded, spec))
	result, findings := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "matrix", Namespace: "matrix", Spec: parse.Parse(spec), Base: matrixBase(t, line, "inference", "", "starter"), Line: line,
	})
	if findings.HasErrors() {
		t.Fatalf("line %s, %s: %s", line.Name, name, findings.Message())
	}
	c.config, c.want = result.YAML, values.want
	for _, variable := range result.Env {
		c.env[variable.Name] = matrixKey
	}
	if len(values.secretRefs) > len(result.Env) {
		t.Errorf("line %s, %s: %d Secrets, %d variables", line.Name, name, len(values.secretRefs), len(result.Env))
	}
	return c
}

// authFields are the settings and secretRefs of a resource, and the values that the server must load.
type authFields struct {
	settings, secretRefs, want map[string]any
}

// authValues returns a value for every field. prefix is the path to the fields, with a dot at the end.
func authValues(t *testing.T, line *catalog.Line, row *catalog.AuthType, prefix string, fields map[string]catalog.Field) authFields {
	t.Helper()
	of := authFields{settings: map[string]any{}, secretRefs: map[string]any{}, want: map[string]any{}}
	for name, field := range fields {
		path := prefix + name
		switch {
		case slices.Contains(row.Secrets, path) && field.Type == catalog.TypeList:
			of.secretRefs[path+".a"] = map[string]any{"name": "matrix", "key": "token"}
			of.want[name] = []any{matrixKey}
		case slices.Contains(row.Secrets, path):
			of.secretRefs[path] = map[string]any{"name": "matrix", "key": "token"}
			of.want[name] = matrixKey
		case field.Object != "":
			inner := authValues(t, line, row, path+".", line.Objects[field.Object])
			of.settings[name], of.want[name] = inner.settings, inner.want
			maps.Copy(of.secretRefs, inner.secretRefs)
		default:
			of.settings[name] = authValue(t, row, name, field)
			of.want[name] = of.settings[name]
		}
	}
	return of
}

// authValue returns a value that differs from the server's default, if the release lines accept another one.
func authValue(t *testing.T, row *catalog.AuthType, name string, field catalog.Field) any {
	t.Helper()
	switch {
	case slices.Contains(row.Networks, name):
		return []any{"192.0.2.0/24"}
	case field.Type == catalog.TypeMap:
		return map[string]any{"matrix": "teams"}
	case field.Type == catalog.TypeInt:
		return 60
	case name == "verify_tls":
		return true
	case field.Type == catalog.TypeBool:
		return field.Default != true
	case field.Type == catalog.TypeString && (name == "endpoint" || strings.HasSuffix(name, "uri") || strings.HasSuffix(name, "url")):
		return "https://matrix.example:8443/" + name
	case field.Type == catalog.TypeString:
		return "matrix-" + strings.ReplaceAll(name, "_", "-")
	}
	t.Fatalf("%s: no value for the field %s of type %s", row.Type, name, field.Type)
	return nil
}

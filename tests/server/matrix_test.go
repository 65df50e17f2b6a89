// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// matrixCase is a configuration with one provider type or authentication type of a release line, and the values that
// the server must load.
type matrixCase struct {
	api, providerType, from string
	// part is the loader's name of the tested part, such as "inference/matrix" or "server.auth".
	part string
	// config is the config.yaml, and env the variables that it refers to.
	config []byte
	env    map[string]string
	// want are the fields of the part as the server must load them.
	want map[string]any
}

const (
	matrixID  = "matrix"
	matrixKey = "key-of-the-matrix"
)

// Each provider type has an endpoint, a key and one setting, once as a copy of the starter's entry and once over a base
// without the type. Each authentication type has all its fields.
//
// Proves: R99, FR-003, FR-027, FR-028, FR-031, FR-032, R9, R11, R26, R83, L-09, L-14.
func TestMatrix(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		line := lineOf(t, r)
		var cases []matrixCase
		for _, api := range parse.ConfigurableAPIs() {
			rows := line.Rows[api.Name]
			for i := range rows {
				if rows[i].Refused {
					t.Errorf("%s %s: the server refuses it, and nothing here says what then", api.Name, rows[i].Type)
				}
				for _, from := range []string{"starter", "no entry of the type"} {
					cases = append(cases, engineCase(t, line, api, &rows[i], from))
				}
			}
		}
		auth := authCases(t, line)
		for _, fault := range matrixFaults(t, r, append(cases, auth...)) {
			t.Error(fault)
		}
		t.Logf("%d provider types of release %s validated, all that it has, each over two bases; %d configurations of authentication", len(cases)/2, r.version, len(auth))
	})
}

func lineOf(t *testing.T, r release) *catalog.Line {
	t.Helper()
	line, _ := catalog.ForVersion(r.version)
	if line == nil {
		t.Fatalf("the catalog has no line %s", r.line)
	}
	return line
}

// matrixFaults returns what the server rejects, or loads with other values.
func matrixFaults(t *testing.T, r release, cases []matrixCase) []string {
	t.Helper()
	dir, args := t.TempDir(), []string{"--loaded", "--libyaml"}
	for i, c := range cases {
		folder := filepath.Join(dir, fmt.Sprintf("%03d", i))
		framework.NoError(t, os.Mkdir(folder, 0o700))
		var env strings.Builder
		for _, name := range slices.Sorted(maps.Keys(c.env)) {
			fmt.Fprintf(&env, "%s=%s\n", name, c.env[name])
		}
		for name, content := range map[string]string{"config.yaml": string(c.config), "env": env.String()} {
			framework.WriteFile(t, filepath.Join(folder, name), content)
		}
		args = append(args, filepath.Join(folder, "config.yaml"))
	}
	verdicts := validate(t, r, args...)
	if len(verdicts) != len(cases) {
		t.Fatalf("%d verdicts about %d cases", len(verdicts), len(cases))
	}
	var faults []string
	for i, c := range cases {
		name := fmt.Sprintf("line %s, %s %s from %s", r.line, c.api, c.providerType, c.from)
		for _, f := range verdicts[i].Findings {
			faults = append(faults, fmt.Sprintf("%s: %s", name, f))
		}
		loaded, ok := verdicts[i].Loaded[c.part]
		if !ok {
			faults = append(faults, name+": the server loaded no "+c.part)
		}
		for _, field := range slices.Sorted(maps.Keys(c.want)) {
			if got := loaded[field]; !sameValue(got, c.want[field]) {
				faults = append(faults, fmt.Sprintf("%s: %s is %v to the server, want %v", name, field, got, c.want[field]))
			}
		}
	}
	return faults
}

// sameValue compares a loaded value with the written one. The server's URL class adds a slash to a URL without a path.
func sameValue(got, want any) bool {
	return strings.TrimSuffix(fmt.Sprint(got), "/") == strings.TrimSuffix(fmt.Sprint(want), "/")
}

// engineCase generates the config of a resource over the starter base. Unless from is "starter", the base has no entry
// of the type.
func engineCase(t *testing.T, line *catalog.Line, api parse.ProviderAPI, row *catalog.Provider, from string) matrixCase {
	t.Helper()
	c := matrixCase{
		api: api.Name, providerType: row.Type, from: from, part: api.Name + "/" + matrixID, want: map[string]any{}, env: map[string]string{},
	}
	entry := map[string]any{"id": matrixID, "provider": row.Type}
	if endpoint, want := matrixEndpoint(row.Endpoint); endpoint != "" {
		entry["endpoint"] = endpoint
		maps.Copy(c.want, want)
	}
	if row.Key != "" {
		entry["apiKey"] = map[string]any{"name": "matrix", "key": "token"}
		c.want[row.Key] = matrixKey
	}
	if row.Region != "" {
		entry["region"], c.want[row.Region] = "eu-central-1", "eu-central-1"
	}
	settings := maps.Clone(row.Example)
	if settings == nil {
		settings = map[string]any{}
	}
	if name, value, ok := aSetting(row); ok {
		settings[name] = value
	}
	maps.Copy(c.want, settings)
	entry["settings"] = settings
	result, findings := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "matrix", Namespace: "matrix", Spec: specWith(t, api, entry), Base: matrixBase(t, line, api.Name, row.Type, from), Line: line,
	})
	for _, f := range findings {
		if f.Reason == problem.MissingField && api == parse.APIVectorIO && from != "starter" {
			continue // the base lost its default embedding model
		}
		// Examples have literal values in place of Secrets, and some types are deprecated.
		if f.Reason != problem.LiteralSecret && (f.Reason != problem.DeprecatedProviderType || !row.Deprecated) {
			t.Errorf("line %s, %s: %v", line.Name, row.Type, f)
		}
	}
	if result == nil {
		t.Fatalf("line %s, %s: no config", line.Name, row.Type)
	}
	c.config = result.YAML
	for _, variable := range result.Env {
		c.env[variable.Name] = matrixKey
	}
	return c
}

func specWith(t *testing.T, api parse.ProviderAPI, entry map[string]any) *parse.Spec {
	t.Helper()
	encoded, err := json.Marshal(map[string]any{api.Field: entry})
	framework.NoError(t, err)
	spec := &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{}}
	framework.NoError(t, json.Unmarshal(encoded, spec.Providers))
	return parse.Parse(spec)
}

func matrixBase(t *testing.T, line *catalog.Line, api, providerType, from string) *serverconfig.Base {
	t.Helper()
	data, ok := distributions.Base("starter", line.Name)
	if !ok {
		t.Fatalf("no starter base for line %s", line.Name)
	}
	if from != "starter" {
		var tree map[string]any
		framework.NoError(t, yaml.Unmarshal(data, &tree))
		providers := tree["providers"].(map[string]any)
		entries, _ := providers[api].([]any)
		providers[api] = slices.DeleteFunc(entries, func(entry any) bool {
			return entry.(map[string]any)["provider_type"] == providerType
		})
		for _, section := range []string{"vector_stores", "safety", "registered_resources"} {
			delete(tree, section) // they may refer to removed providers
		}
		var err error
		data, err = yaml.Marshal(tree)
		framework.NoError(t, err)
	}
	base, err := serverconfig.ParseBase("starter", data)
	framework.NoError(t, err)
	return base
}

// matrixEndpoint returns an endpoint for the resource, and the config fields that the server must load from it.
func matrixEndpoint(e *catalog.Endpoint) (endpoint string, want map[string]any) {
	const address = "matrix.example:8443"
	switch {
	case e == nil:
		return "", nil
	case e.Kind == catalog.EndpointHostPort:
		return address, map[string]any{e.Field: "matrix.example", e.PortField: 8443}
	case e.Kind == catalog.EndpointAddress:
		return "https://" + address, map[string]any{e.Field: address}
	case len(e.Schemes) > 0:
		return e.Schemes[0] + "://" + address, map[string]any{e.Field: e.Schemes[0] + "://" + address + e.DefaultPath}
	default:
		return "https://" + address, map[string]any{e.Field: "https://" + address + e.DefaultPath}
	}
}

// aSetting returns a field of the row that the case does not set yet, and a value that differs from the default.
func aSetting(row *catalog.Provider) (name string, value any, ok bool) {
	taken := []string{row.Key, row.Region, row.DeploymentName}
	if row.Endpoint != nil {
		taken = append(taken, row.Endpoint.Field, row.Endpoint.PortField)
	}
	taken = slices.AppendSeq(taken, maps.Keys(row.Example))
	for _, name := range row.FieldNames() {
		field := row.Fields[name]
		if slices.Contains(taken, name) || field.Secret {
			continue
		}
		switch {
		case field.Type == catalog.TypeBool:
			return name, field.Default != true, true
		case field.Type == catalog.TypeInt:
			return name, int(max(2, ptr.Deref(field.Min, 2))), true
		case len(field.Values) > 0:
			return name, field.Values[len(field.Values)-1], true
		}
	}
	return "", nil, false
}

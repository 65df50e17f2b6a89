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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/configs"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// matrixCase is one provider type of one line: a config with it, and what the server must make of the provider's part.
type matrixCase struct {
	api, providerType string
	// config is the config.yaml, env the variables that it refers to.
	config []byte
	env    map[string]string
	// want are fields of the provider's config as the server must have loaded them.
	want map[string]any
}

const (
	matrixID  = "matrix"
	matrixKey = "key-of-the-matrix"
)

// engineAPIs are the APIs whose providers the engine writes; rows of the others are proven from the catalog's own data.
var engineAPIs = []string{"inference"}

// Every provider type that a resource can configure, on every line, with endpoint, key and one setting, is loaded by the real server,
// which finds in it what was said. Where the engine writes the provider it does so from a resource; else what the row says of endpoint,
// key, required stores and examples must be enough for the server.
//
// Proves: FR-027, FR-028, FR-031, FR-032, R9, R11, R26, L-09, L-14.
func TestMatrix(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		line := lineOf(t, r)
		var cases []matrixCase
		for _, api := range []string{"inference", "safety", "tool_runtime", "vector_io"} {
			rows := line.Rows[api]
			for i := range rows {
				if slices.Contains(engineAPIs, api) {
					cases = append(cases, engineCase(t, line, &rows[i]))
				} else {
					cases = append(cases, rowCase(t, line, api, &rows[i]))
				}
			}
		}
		for _, fault := range matrixFaults(t, r, cases) {
			t.Error(fault)
		}
		t.Logf("%d provider types of release %s judged", len(cases), r.version)
	})
}

// The matrix is judged: with a wrong name of the endpoint's field it must fail.
func TestMatrixFindsAWrongField(t *testing.T) {
	r := imageRelease(t)
	line := lineOf(t, r)
	row, ok := line.Provider("inference", "remote::vllm")
	if !ok {
		t.Fatal("no row remote::vllm")
	}
	c := engineCase(t, line, row)
	const right, wrong = "\n      base_url: https://matrix.example:8443/v1\n", "\n      url: https://matrix.example:8443/v1\n"
	if strings.Count(string(c.config), right) != 1 {
		t.Fatalf("the endpoint does not stand once as %q in:\n%s", right, c.config)
	}
	c.config = []byte(strings.Replace(string(c.config), right, wrong, 1))
	if faults := matrixFaults(t, r, []matrixCase{c}); len(faults) != 2 {
		t.Errorf("want the ignored key and the endpoint that did not arrive, got %q", faults)
	}
}

func lineOf(t *testing.T, r release) *catalog.Line {
	t.Helper()
	line, ok := catalog.Get(r.line)
	if !ok {
		t.Fatalf("the catalog has no line %s", r.line)
	}
	return line
}

// matrixFaults lets the server load every case and tells what is wrong.
func matrixFaults(t *testing.T, r release, cases []matrixCase) []string {
	t.Helper()
	dir, args := t.TempDir(), []string{"--loaded"}
	for i, c := range cases {
		folder := filepath.Join(dir, fmt.Sprintf("%03d", i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		var env strings.Builder
		for _, name := range slices.Sorted(maps.Keys(c.env)) {
			fmt.Fprintf(&env, "%s=%s\n", name, c.env[name])
		}
		for name, content := range map[string]string{"config.yaml": string(c.config), "env": env.String()} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, filepath.Join(folder, "config.yaml"))
	}
	verdicts := judge(t, r, args...)
	if len(verdicts) != len(cases) {
		t.Fatalf("%d verdicts about %d cases", len(verdicts), len(cases))
	}
	var faults []string
	for i, c := range cases {
		name := fmt.Sprintf("line %s, %s %s", r.line, c.api, c.providerType)
		for _, f := range verdicts[i].Findings {
			faults = append(faults, fmt.Sprintf("%s: %s", name, f))
		}
		loaded, ok := verdicts[i].Loaded[c.api+"/"+matrixID]
		if !ok {
			faults = append(faults, name+": the server loaded no such provider")
		}
		for _, field := range slices.Sorted(maps.Keys(c.want)) {
			if got := loaded[field]; !sameValue(got, c.want[field]) {
				faults = append(faults, fmt.Sprintf("%s: %s is %v to the server, want %v", name, field, got, c.want[field]))
			}
		}
	}
	return faults
}

// sameValue compares what the server loaded with what was written; its class of URLs adds a slash to one without a path.
func sameValue(got, want any) bool {
	return strings.TrimSuffix(fmt.Sprint(got), "/") == strings.TrimSuffix(fmt.Sprint(want), "/")
}

// engineCase lets the engine make the config from a resource over the starter base of the line.
func engineCase(t *testing.T, line *catalog.Line, row *catalog.Provider) matrixCase {
	t.Helper()
	c := matrixCase{api: "inference", providerType: row.Type, want: map[string]any{}, env: map[string]string{}}
	entry := map[string]any{"id": matrixID, "provider": row.Type}
	if row.Endpoint != nil {
		entry["endpoint"] = "https://matrix.example:8443"
		c.want[row.Endpoint.Field] = "https://matrix.example:8443" + row.Endpoint.DefaultPath
	}
	if row.Key != "" {
		entry["apiKey"] = map[string]any{"name": "matrix", "key": "token"}
		c.want[row.Key] = matrixKey
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
	raw, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	data, ok := configs.Base("starter", line.Name)
	if !ok {
		t.Fatalf("no starter base for line %s", line.Name)
	}
	base, err := config.ParseBase("starter", data)
	if err != nil {
		t.Fatal(err)
	}
	spec := &v1alpha2.LlamaStackDistributionSpec{
		Providers: &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: raw}},
	}
	result, findings := config.Generate(config.Input{Name: "matrix", Namespace: "matrix", Spec: spec, Base: base, Line: line})
	if len(findings) > 0 {
		t.Fatalf("line %s, %s: %v", line.Name, row.Type, findings)
	}
	c.config = result.YAML
	for _, variable := range result.Env {
		c.env[variable.Name] = matrixKey
	}
	return c
}

// rowCase makes the config from the row alone, in the starter base of the line.
func rowCase(t *testing.T, line *catalog.Line, api string, row *catalog.Provider) matrixCase {
	t.Helper()
	c := matrixCase{api: api, providerType: row.Type, want: map[string]any{}, env: map[string]string{"LLSD_MATRIX_KEY": matrixKey}}
	fields := maps.Clone(row.Example)
	if fields == nil {
		fields = map[string]any{}
	}
	if name, value, ok := aSetting(row); ok {
		fields[name] = value
	}
	maps.Copy(fields, endpointFields(row.Endpoint))
	maps.Copy(c.want, fields)
	if row.Key != "" {
		fields[row.Key], c.want[row.Key] = "${env.LLSD_MATRIX_KEY}", matrixKey
	}
	for kind, backend := range map[catalog.StoreKind]string{catalog.KV: "kv_default", catalog.SQL: "sql_default"} {
		for _, name := range row.StoreFields(kind) {
			fields[name] = map[string]any{"backend": backend, kind.Place(): matrixID}
		}
	}
	data, _ := configs.Base("starter", line.Name)
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	providers := tree["providers"].(map[string]any)
	entries, _ := providers[api].([]any)
	providers[api] = append(entries, map[string]any{"provider_id": matrixID, "provider_type": row.Type, "config": fields})
	if line.NeedsInsecure {
		tree["server"].(map[string]any)["insecure"] = true
	}
	content, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	c.config = content
	return c
}

func endpointFields(e *catalog.Endpoint) map[string]any {
	switch {
	case e == nil:
		return nil
	case e.Kind == catalog.EndpointHostPort:
		return map[string]any{e.Field: "matrix.example", e.PortField: 8443}
	case e.Kind == catalog.EndpointAddress:
		return map[string]any{e.Field: "matrix.example:8443"}
	case len(e.Schemes) > 0:
		return map[string]any{e.Field: e.Schemes[0] + "://matrix.example:8443" + e.DefaultPath}
	default:
		return map[string]any{e.Field: "https://matrix.example:8443" + e.DefaultPath}
	}
}

// aSetting chooses a field of the row that nothing else sets, and a value that is not the server's own.
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
			return name, 2, true
		case len(field.Values) > 0:
			return name, field.Values[len(field.Values)-1], true
		}
	}
	return "", nil, false
}

// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Proves: R16 (a newer release matches the newest release line before it; a release before 0.3 matches none).
func TestForVersion(t *testing.T) {
	for version, want := range map[string]struct {
		line     string
		standing VersionMatch
	}{
		"0.7.1": {"0.7", KnownLine}, "v0.7.3": {"0.7", KnownLine}, "0.7": {"0.7", KnownLine}, "0.7.1-rc2": {"0.7", KnownLine}, "0.7rc1": {"0.7", KnownLine},
		"1.4.0+cu128": {"1.4", KnownLine}, "0.3.0": {"0.3", KnownLine},
		"1.99.0": {Newest(), Newer}, "1.100.0": {Newest(), Newer}, "v98.0": {Newest(), Newer}, "99.1.0": {Newest(), Newer}, "0.9.1": {"0.8", Newer}, "0.70.1": {"0.8", Newer},
		"0.2.23": {"", TooOld}, "0.1": {"", TooOld}, "0.0.0": {"", TooOld},
		"": {}, "latest": {}, "7": {}, "v1": {}, "24.04": {}, "2026.11.21": {}, "20261121": {}, "pg16-0.7.1": {}, "0.": {}, ".7": {}, "07.1": {},
	} {
		line, standing := ForVersion(version)
		if standing != want.standing || (line != nil) != (want.line != "") || (line != nil && line.Name != want.line) {
			t.Errorf("ForVersion(%q) = %v, %v; want %v", version, line, standing, want)
		}
	}
}

func TestCompare(t *testing.T) {
	names := []string{"1.10", "0.10", "1.9", "0.7", "1.0"}
	slices.SortFunc(names, Compare)
	if want := []string{"0.7", "0.10", "1.0", "1.9", "1.10"}; !slices.Equal(names, want) {
		t.Errorf("order %v, want %v", names, want)
	}
	if !slices.Contains(Lines(), "0.7") {
		t.Errorf("Lines() = %v", Lines())
	}
}

// Proves: R11 (the endpoint and key fields of release line 0.7).
func TestRows(t *testing.T) {
	line, ok := Get("0.7")
	if !ok {
		t.Fatal("no line 0.7")
	}
	for providerType, want := range map[string][3]string{
		"remote::vllm":      {"base_url", "/v1", "api_token"},
		"remote::ollama":    {"base_url", "/v1", ""},
		"remote::openai":    {"base_url", "/v1", "api_key"},
		"remote::groq":      {"base_url", "/openai/v1", "api_key"},
		"remote::anthropic": {"", "", "api_key"},
		"remote::vertexai":  {"", "", "access_token"},
	} {
		row, ok := line.Provider("inference", providerType)
		if !ok {
			t.Errorf("no row %s", providerType)
			continue
		}
		got := [3]string{"", "", row.Key}
		if row.Endpoint != nil {
			got[0], got[1] = row.Endpoint.Field, row.Endpoint.DefaultPath
		}
		if got != want {
			t.Errorf("%s: endpoint field, default path, key = %v, want %v", providerType, got, want)
		}
	}
	if _, ok := line.Provider("inference", "remote::tgi"); ok {
		t.Error("release line 0.7 has no remote::tgi")
	}
	if got := len(line.ProviderTypes("inference")); got != 23 {
		t.Errorf("%d inference provider types, release 0.7.3 has 23", got)
	}
}

// Proves: R11, R16, R26, FR-031, FR-032, L-14.
func TestRowsDifferByLine(t *testing.T) {
	for _, c := range []struct{ line, api, providerType, endpoint, path, key string }{
		{"0.3", "inference", "remote::ollama", "url", "", ""},
		{"0.4", "inference", "remote::ollama", "base_url", "/v1", ""},
		{"0.3", "inference", "remote::vllm", "url", "/v1", "api_token"},
		{Newest(), "inference", "remote::vllm", "base_url", "/v1", "api_token"},
		{"0.3", "inference", "remote::azure", "api_base", "", "api_key"},
		{"0.3", "inference", "remote::together", "", "", "api_key"},
		{"0.3", "inference", "remote::bedrock", "", "", ""},
		{"1.0", "inference", "remote::bedrock", "", "", "api_key"},
		{"1.1", "inference", "remote::bedrock", "", "", "aws_bedrock_bearer_token"},
		{"0.5", "inference", "remote::vertexai", "", "", ""},
		{"1.4", "vector_io", "remote::milvus", "uri", "", "token"},
		{"1.4", "vector_io", "remote::weaviate", "weaviate_cluster_url", "", "weaviate_api_key"},
		{"0.8", "safety", "remote::nvidia", "guardrails_service_url", "", ""},
	} {
		row, ok := get(t, c.line).Provider(c.api, c.providerType)
		if !ok {
			t.Errorf("line %s has no row %s", c.line, c.providerType)
			continue
		}
		endpoint, path := "", ""
		if row.Endpoint != nil {
			endpoint, path = row.Endpoint.Field, row.Endpoint.DefaultPath
		}
		if endpoint != c.endpoint || path != c.path || row.Key != c.key {
			t.Errorf("line %s, %s: endpoint %q, path %q, key %q; want %+v", c.line, c.providerType, endpoint, path, row.Key, c)
		}
	}
}

// Proves: R16, R24, R26, R27, R36.
func TestLines(t *testing.T) {
	if lines := Lines(); !slices.IsSortedFunc(lines, Compare) || lines[0] != "0.3" || len(lines) < 12 || Newest() != lines[len(lines)-1] {
		t.Fatalf("lines %v, newest %s", lines, Newest())
	}
	for _, name := range Lines() {
		line := get(t, name)
		renamed, fips := Compare(name, "0.8") >= 0, Compare(name, "1.2") >= 0
		wantPort, wantLog, wantHome := "LLAMA_STACK_PORT", "LLAMA_STACK_LOGGING", "LLAMA_STACK_CONFIG_DIR"
		if renamed {
			wantPort, wantLog, wantHome = "OGX_PORT", "OGX_LOGGING", "OGX_CONFIG_DIR"
		}
		if line.PortEnv != wantPort || line.LogEnv != wantLog || line.HomeEnv != wantHome {
			t.Errorf("line %s: %s, %s, %s", name, line.PortEnv, line.LogEnv, line.HomeEnv)
		}
		_, insecure := line.ServerFields()["insecure"]
		if line.WritesConfig != fips {
			t.Errorf("line %s writes its configuration: %v", name, line.WritesConfig)
		}
		if line.NeedsInsecure != fips || insecure != fips || line.AllProviders != renamed {
			t.Errorf("line %s: insecure needed %v, there %v; provider all %v", name, line.NeedsInsecure, insecure, line.AllProviders)
		}
		if registers := Compare(name, "0.7") < 0; line.RegistersToolGroups != registers {
			t.Errorf("line %s registers tool groups: %v", name, line.RegistersToolGroups)
		}
		if registers := name != "0.3"; line.RegistersVectorStores != registers {
			t.Errorf("line %s registers vector stores: %v", name, line.RegistersVectorStores)
		}
		if hosts := slices.Contains([]string{"0.4", "0.5", "0.6"}, name); line.HostForWorkers != hosts {
			t.Errorf("line %s: several workers need a host: %v", name, line.HostForWorkers)
		}
		if line.ServesModelID != renamed || line.APIsMustBeServed != (Compare(name, "1.5") < 0) {
			t.Errorf("line %s: served by model id %v, APIs must be served %v", name, line.ServesModelID, line.APIsMustBeServed)
		}
		_, connectionString := line.Backends["sql_postgres"].Fields["connection_string"]
		if connectionString != (Compare(name, "1.4") >= 0) {
			t.Errorf("line %s: sql_postgres has a connection_string: %v", name, connectionString)
		}
		if _, password := line.Backends["kv_redis"].Fields["password"]; password {
			t.Errorf("line %s: kv_redis has a password", name)
		}
		if line.Stores["metadata"] != (Store{Kind: KV, Default: "registry"}) {
			t.Errorf("line %s: store metadata %+v", name, line.Stores["metadata"])
		}
		_, shields := line.ResourceFields("shields")
		if _, safety := line.APIs["safety"]; shields != safety {
			t.Errorf("line %s: shields %v, safety %v", name, shields, safety)
		}
	}
}

// The kind of a store depends on the release line: prompts moved from KV to SQL.
//
// Proves: R24, L-14.
func TestStoreKinds(t *testing.T) {
	for name, want := range map[string]Store{
		"0.3": {}, "0.4": {KV, "prompts", ""}, "0.8": {KV, "prompts", ""}, "1.0": {SQL, "prompts", ""}, "1.4": {SQL, "prompts", ""},
	} {
		if got := get(t, name).Stores["prompts"]; got != want {
			t.Errorf("line %s: store prompts %+v, want %+v", name, got, want)
		}
	}
	batches, _ := get(t, "1.0").Provider("batches", "inline::reference")
	if field := batches.Fields["sqlstore"]; field.Store != SQL || !field.Required {
		t.Errorf("the store of batches is %+v", field)
	}
}

// Proves: R25.
func TestAbsent(t *testing.T) {
	for _, c := range []struct {
		line, api   string
		gone, comes string
		ok          bool
	}{
		{"1.4", "safety", "1.0", "", true},
		{"1.0", "safety", "1.0", "", true},
		{"0.8", "safety", "", "", false},
		{"0.6", "responses", "", "0.7", true},
		{"0.7", "agents", "0.7", "", true},
		{"1.0", "skills", "", "1.1", true},
		{"0.3", "telemetry", "", "", true},
		{Newest(), "nonsense", "", "", false},
	} {
		absence, ok := get(t, c.line).Absent(c.api)
		if ok != c.ok || absence.RemovedIn != c.gone || absence.AddedIn != c.comes {
			t.Errorf("line %s, %s: %+v, %v; want %+v", c.line, c.api, absence, ok, c)
		}
		if _, written := map[string]bool{"safety": true, "telemetry": true, "agents": true}[c.api]; ok && written && absence.Instead == "" {
			t.Errorf("line %s, %s: nothing is said of what to do instead", c.line, c.api)
		}
	}
	if !slices.Contains(KnownAPIs(), "safety") || slices.Contains(KnownAPIs(), "models") {
		t.Errorf("known APIs: %v", KnownAPIs())
	}
}

// Proves: R36.
func TestToolGroups(t *testing.T) {
	for line, id := range map[string]string{"0.3": "builtin::rag", "0.7": "builtin::file_search", "1.4": "builtin::file_search"} {
		if got := get(t, line).ToolGroupProviders(id); len(got) != 1 {
			t.Errorf("line %s: %s is served by %v", line, id, got)
		}
		other, ok := OtherToolGroup(id)
		if back, _ := OtherToolGroup(other); !ok || back != id {
			t.Errorf("%s is called %q elsewhere, and that %q", id, other, back)
		}
	}
	for _, name := range Lines() {
		if got := get(t, name).ToolGroupProviders(MCPToolGroups); !slices.Equal(got, []string{"remote::model-context-protocol"}) {
			t.Errorf("line %s: MCP servers are served by %v", name, got)
		}
		for api, of := range map[string]string{"tool_groups": "tool_runtime", "models": "inference", "vector_io": "vector_io", "prompts": "", "": ""} {
			if got, ok := get(t, name).APIOf(api); got != of || ok != (of != "") {
				t.Errorf("line %s: %q is of API %q", name, api, got)
			}
		}
	}
	if got, want := get(t, "0.7").ToolGroups(), []string{"builtin::file_search", "builtin::websearch", "builtin::wolfram_alpha", MCPToolGroups}; !slices.Equal(got, want) {
		t.Errorf("tool groups %v", got)
	}
	want := []string{"remote::bing-search", "remote::brave-search", "remote::tavily-search"}
	if got := get(t, "0.5").ToolGroupProviders("builtin::websearch"); !slices.Equal(got, want) {
		t.Errorf("websearch is served by %v", got)
	}
}

func TestRowsHaveASource(t *testing.T) {
	for _, name := range Lines() {
		for _, api := range []string{"inference", "safety", "tool_runtime", "vector_io"} {
			for _, row := range get(t, name).Rows[api] {
				if row.Source == "" {
					t.Errorf("line %s, %s %s has no source", name, api, row.Type)
				}
				if row.Key == "" && row.Instead["apiKey"] == "" && strings.HasPrefix(row.Type, "remote::") {
					t.Errorf("line %s, %s %s takes no key and does not say what to do instead", name, api, row.Type)
				}
				if row.Endpoint == nil && row.Instead["endpoint"] == "" {
					t.Errorf("line %s, %s %s takes no endpoint and does not say what to do instead", name, api, row.Type)
				}
			}
		}
	}
}

func get(t *testing.T, name string) *Line {
	t.Helper()
	line, ok := Get(name)
	if !ok {
		t.Fatalf("no line %s", name)
	}
	return line
}

// BenchmarkParse measures the first use of a release line.
func BenchmarkParse(b *testing.B) {
	data, err := files.ReadFile(Newest() + ".yaml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func TestParseRefusesContradictions(t *testing.T) {
	const head = "line: x\npackage: p\nportEnv: P\nproviders:\n  inference:\n"
	for want, data := range map[string]string{
		"required":                          "line: x\n",
		"not found":                         "line: x\npackage: p\nportEnv: P\nshade: red\n",
		"no such field":                     head + "  - {type: a, key: nope}\n",
		"unknown type":                      head + "  - {type: a, fields: {f: {type: text}}}\n",
		`type "texts"`:                      head + "  - {type: a, fields: {f: {type: list, elements: texts}}}\n",
		`type "number"`:                     head + "  - {type: a, fields: {f: {type: any, anyOf: [int, number]}}}\n",
		"endpoint kind":                     head + "  - {type: a, endpoint: {field: f, kind: x}, fields: {f: {type: url}}}\n",
		"portField":                         head + "  - {type: a, endpoint: {field: f, kind: hostPort}, fields: {f: {type: string}}}\n",
		"no object":                         head + "  - {type: a, fields: {f: {type: map, object: O}}}\n",
		"unknown kind":                      head + "  - {type: a}\nstores:\n  s: {kind: blob}\n",
		"sorted by type":                    head + "  - {type: b}\n  - {type: a}\n",
		"must be sorted by type and unique": head + "  - {type: a}\n  - {type: a}\n",
		"cannot unmarshal":                  head + "  - {type: a, fields: [f]}\n",
		"auth: a follows b":                 head + "  - {type: a}\nauth:\n- {type: b}\n- {type: a}\n",
		"auth: a follows a":                 head + "  - {type: a}\nauth:\n- {type: a}\n- {type: a}\n",
		"auth a: no such field: nope":       head + "  - {type: a}\nauth:\n- {type: a, oneOf: [nope]}\n",
	} {
		if _, err := Parse([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, want an error with %q", data, err, want)
		}
	}
}

// The elements of a list or a free map are validated only if the catalog describes them.
//
// Proves: FR-033.
func TestElement(t *testing.T) {
	for _, c := range []struct {
		field Field
		want  *Field
	}{
		{Field{Type: TypeList}, nil},
		{Field{Type: TypeList, Elements: TypeString}, &Field{Type: TypeString, Required: true}},
		{Field{Type: TypeList, Object: "o"}, &Field{Type: TypeMap, Object: "o", Required: true}},
		{
			Field{Type: TypeMap, Elements: TypeString, Values: []string{"a"}},
			&Field{Type: TypeString, Values: []string{"a"}, Required: true},
		},
	} {
		got, ok := c.field.Element()
		if c.want == nil {
			c.want = &Field{}
		}
		if diff := cmp.Diff(*c.want, got); diff != "" || ok != (c.want.Type != "") {
			t.Errorf("%+v (-want +got, %t):\n%s", c.field, ok, diff)
		}
	}
}

// A map of an unknown kind may have the fields of all kinds, and only the common ones are required.
//
// Proves: FR-033.
func TestChosen(t *testing.T) {
	fields := map[string]Field{
		"type": {Type: TypeString, Required: true, Values: []string{"a", "b", "c"}, Chooses: true},
		"of_a": {Type: TypeInt, Required: true, Only: []string{"a"}},
		"of_b": {Type: TypeInt, Only: []string{"b", "c"}},
		"all":  {Type: TypeInt, Required: true},
	}
	for kind, want := range map[string]string{
		"a": "all! of_a! type!", "b": "all! of_b type!", "c": "all! of_b type!", "": "all! of_a of_b type!", "${env.X}": "all! of_a of_b type!",
	} {
		var got []string
		chosen := FieldsForKind(fields, func(name string) string {
			if name != "type" {
				t.Errorf("asked for %s", name)
			}
			return kind
		})
		for _, name := range slices.Sorted(maps.Keys(chosen)) {
			if chosen[name].Required {
				name += "!"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("kind %q has %v, want %s", kind, got, want)
		}
	}
	delete(fields, "type")
	if diff := cmp.Diff(fields, FieldsForKind(fields, nil)); diff != "" {
		t.Errorf("a map of one kind (-want +got):\n%s", diff)
	}
}

func TestLocationField(t *testing.T) {
	if KV.LocationField() != "namespace" || SQL.LocationField() != "table_name" {
		t.Error(KV.LocationField(), SQL.LocationField())
	}
}

// If several fields choose a kind, the first one by name counts.
func TestChosenIsTheSameEachTime(t *testing.T) {
	fields := map[string]Field{
		"a": {Chooses: true, Values: []string{"x"}}, "b": {Chooses: true, Values: []string{"z"}}, "c": {Only: []string{"x"}}, "d": {Only: []string{"z"}},
	}
	for range 50 {
		chosen := FieldsForKind(fields, func(name string) string { return map[string]string{"a": "x", "b": "z"}[name] })
		if _, there := chosen["c"]; !there || len(chosen) != 3 {
			t.Fatalf("%v", chosen)
		}
	}
}

func TestAbsentNamesTheFirstReleaseLineWithoutAnAPI(t *testing.T) {
	names := Lines()
	for _, api := range KnownAPIs() {
		for i, name := range names[1:] {
			before, line := get(t, names[i]), get(t, name)
			_, had := before.APIs[api]
			absence, absent := line.Absent(api)
			if had && absent && absence.RemovedIn != name {
				t.Errorf("%s is gone since %q, not since %s", api, absence.RemovedIn, name)
			}
			if _, has := line.APIs[api]; has && !had {
				if earlier, _ := before.Absent(api); earlier.AddedIn != name {
					t.Errorf("%s comes with %q, not with %s", api, earlier.AddedIn, name)
				}
			}
		}
	}
}

// The parser rejects credentials of MCP servers on all release lines. Change it if one adds such a field.
//
// Proves: R25.
func TestNoReleaseLineAcceptsCredentialsOfMCPServers(t *testing.T) {
	for _, name := range Lines() {
		line := get(t, name)
		groups, _ := line.ResourceFields("tool_groups")
		row, _ := line.Provider("tool_runtime", "remote::model-context-protocol")
		for what, fields := range map[string]map[string]Field{
			"a connector": line.Objects[line.Sections["connectors"].Object], "a tool group": groups, "the provider": row.Fields,
		} {
			for field := range fields {
				if !slices.Contains([]string{"connector_id", "connector_type", "server_label", "url", "toolgroup_id", "provider_id", "args", "mcp_endpoint"}, field) {
					t.Errorf("line %s: %s has the field %s", name, what, field)
				}
			}
		}
	}
}

// Proves: R84, R29 (a release line lists tool groups if it registers them, else connectors if that endpoint works).
func TestListsOfEachLine(t *testing.T) {
	for _, name := range Lines() {
		line := get(t, name)
		want := map[string]string{"vector_stores": "/v1/vector_stores"}
		switch {
		case line.RegistersToolGroups:
			want["tool_groups"] = "/v1/toolgroups"
		case Compare(name, "1.0") < 0:
			want["connectors"] = "/v1beta/connectors"
		case Compare(name, "1.3") >= 0:
			want["connectors"] = "/v1alpha/admin/connectors"
		}
		if !maps.Equal(line.Lists, want) {
			t.Errorf("line %s lists %v, want %v", name, line.Lists, want)
		}
	}
}

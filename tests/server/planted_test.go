// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// The boots are tested: a server that lacks a provider and its model, and that has the key of another under a wrong name, must be
// noticed, each by its fault.
func TestStoriesFindWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := imageRelease(t)
	b, ok := prepare(t, r, story{"us-2.1", stories + "/us-2.1/cr.yaml"}, nil)
	if !ok {
		t.Fatal("no configuration")
	}
	planted := strings.Replace(string(b.config), "api_token: ${env.LLSD_VLLM_PRIMARY_API_KEY}", "api_key: ${env.LLSD_VLLM_PRIMARY_API_KEY}", 1)
	if planted == string(b.config) {
		t.Fatalf("the key does not stand in:\n%s", b.config)
	}
	b.booted = parseYAML(t, []byte(planted))
	isFallback := func(entry any) bool { return str(entry, "provider_id") == "vllm-fallback" }
	for section, name := range map[string]string{"providers": "inference", "registered_resources": "models"} {
		entries := list(b.booted, section, name)
		b.booted[section].(map[string]any)[name] = slices.DeleteFunc(entries, isFallback)
	}
	reduce(b.booted, b.base, unbootables(t, r.line))
	b.backends = startBackends(t, b.asked)
	faults := answerFaults(t, b, b.boot(t, nurseryOf(t, r)))
	for _, want := range []string{
		"/v1/providers has no inference/vllm-fallback of type vllm",
		"/v1/models (200) has no vllm-fallback/llama3.2-8b",
		"chat with vllm-primary/llama3.2-8b",
		"no chat with llama3.2-8b came in at vllm:8000 with the key",
		"chat with vllm-fallback/llama3.2-8b",
	} {
		if !slices.ContainsFunc(faults, func(fault string) bool { return strings.HasPrefix(fault, want) }) {
			t.Errorf("not noticed: %s\n%s", want, strings.Join(faults, "\n"))
		}
	}
}

// A backend must refuse another key.
func TestStoriesFindAWrongKey(t *testing.T) {
	t.Parallel()
	a := asked{
		providers: []askedProvider{{api: "inference", id: "vllm", providerType: "vllm", endpoint: "http://vllm:8000", key: "creds/token"}},
		models:    []askedModel{{name: "m", provider: "vllm"}},
	}
	backends := startBackends(t, a)
	url := "http://" + backends.hosts["vllm"] + ":8000/v1/chat/completions"
	send(t, url, "vllm:8000", keyOf("creds/other"))
	if backends.arrived("vllm:8000", "m") {
		t.Error("a chat with another key counts as arrived")
	}
	send(t, url, "vllm:8000", keyOf("creds/token"))
	if !backends.arrived("vllm:8000", "m") {
		t.Errorf("the chat with the key did not arrive: %+v", backends.doubles["vllm:8000"].Requests())
	}
}

// The matrix is tested on the key too: under a wrong name in the generated file, and with a catalog that believes in a wrong name.
func TestMatrixFindsAWrongKey(t *testing.T) {
	r := imageRelease(t)
	line := lineOf(t, r)
	row, ok := line.Provider("inference", "remote::vllm")
	if !ok {
		t.Fatal("no row remote::vllm")
	}
	c := engineCase(t, line, parse.APIInference, row, "starter")
	planted := c
	tree := parseYAML(t, c.config)
	for _, entry := range list(tree, "providers", "inference") {
		if str(entry, "provider_id") == matrixID {
			fields := entry.(map[string]any)["config"].(map[string]any)
			fields["api_key"] = fields[row.Key]
			delete(fields, row.Key)
		}
	}
	var err error
	if planted.config, err = yaml.Marshal(tree); err != nil {
		t.Fatal(err)
	}

	// The engine follows its catalog, right or wrong; what must have arrived is said by the right one.
	doctored, wrong := *line, *row
	wrong.Key, wrong.Fields = "auth_credential", maps.Clone(row.Fields)
	wrong.Fields["auth_credential"] = row.Fields[row.Key]
	doctored.Rows = maps.Clone(line.Rows)
	doctored.Rows["inference"] = slices.Clone(line.Rows["inference"])
	for i := range doctored.Rows["inference"] {
		if doctored.Rows["inference"][i].Type == row.Type {
			doctored.Rows["inference"][i] = wrong
		}
	}
	believed := engineCase(t, &doctored, parse.APIInference, &wrong, "starter")
	believed.want = c.want

	for name, cases := range map[string][]matrixCase{"in the file": {planted}, "in the catalog": {believed}} {
		faults := matrixFaults(t, r, cases)
		for _, want := range []string{"ignored", row.Key + " is "} {
			if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, want) }) {
				t.Errorf("a wrong name %s: no fault with %q in %q", name, want, faults)
			}
		}
	}
}

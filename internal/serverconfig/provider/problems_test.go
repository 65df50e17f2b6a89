// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// expectReported applies spec.providers to an empty base, and expects the sorted problems, one per line: severity, path
// and, if any, the type of error.
func expectReported(t *testing.T, name, providers, want string) {
	t.Helper()
	parsed := step.Parsed(t, "providers:\n"+providers)
	var problems problem.Collector
	Apply(t.Context(), step.Document(t, ""), invented(t), parsed.Providers, environment.NewSet(parsed.Source), &problems)
	var where, texts []string
	for _, p := range problems.List() {
		line := string(p.Severity) + " " + p.Path
		if p.Type != "" {
			line += ": " + p.Type.String()
		}
		where, texts = append(where, line), append(texts, string(p.Severity)+" "+p.String())
	}
	slices.Sort(where)
	slices.Sort(texts)
	expectText(t, name, strings.Join(where, "\n"), strings.ReplaceAll(want, "\t", ""))
	expect.Message(t, name, strings.Join(texts, "\n"))
}

// Proves: R25, R34, R74, FR-075.
func TestEachMistakeInAnEntryHasItsMessage(t *testing.T) {
	const complete = "provider: full, endpoint: 'http://h', apiKey: {name: s, key: k}, deploymentName: d, other_secret: {name: s, key: o}, settings: {project: p}"
	for providers, want := range map[string]string{
		"{" + complete + "}": "",
		"{provider: full}": `
			Error spec.providers.inference.apiKey: Required value
			Error spec.providers.inference.endpoint: Required value
			Error spec.providers.inference.secretRefs[other_secret]: Required value
			Error spec.providers.inference.settings.deployed: Required value
			Warning spec.providers.inference.settings.project`,
		// An invalid value is not reported as missing too.
		"{" + strings.Replace(complete, "'http://h'", "h", 1) + "}": "Error spec.providers.inference.endpoint: Invalid value",
		"{" + strings.Replace(complete, "{project: p}", "{project: '', inner: {}}", 1) + "}": `
			Error spec.providers.inference.settings.inner.needed: Required value
			Warning spec.providers.inference.settings.project`,
		// A config field is set twice.
		"{" + strings.Replace(complete, "{project: p}", "{project: p, base_url: 'http://x'}", 1) + "}": "Error spec.providers.inference.settings.base_url: Forbidden",
		"{" + complete + ", secretRefs: {base_url: {name: s, key: k}}}":                                "Error spec.providers.inference.secretRefs[base_url]: Forbidden",
		"{" + complete + ", secretRefs: {deployed: {name: s, key: k}}}":                                "Error spec.providers.inference.secretRefs[deployed]: Forbidden",
		// The name of a field of the entry is used where config fields of the server belong.
		"{" + complete + ", secretRefs: {apikey: {name: s, key: k}}}": "Error spec.providers.inference.secretRefs[apikey]: Invalid value",
		"{provider: bare, secretRefs: {apikey: {name: s, key: k}}}":   "Error spec.providers.inference.secretRefs[apikey]: Invalid value",
		// The type does not support these fields.
		"{provider: bare, endpoint: 'http://h', apiKey: {name: s, key: k}}": `
			Error spec.providers.inference.apiKey: Forbidden
			Error spec.providers.inference.endpoint: Forbidden`,
		"{provider: bare, settings: {any: 1}}": "Warning spec.providers.inference.settings.any",
		"{provider: sparse, region: r, deploymentName: d}": `
			Error spec.providers.inference.deploymentName: Forbidden
			Error spec.providers.inference.region: Forbidden`,
		"{provider: old}": "Warning spec.providers.inference.provider",
		// A password in a URL is reported once, for all types.
		"{" + strings.Replace(complete, "{project: p}", "{project: 'http://me:hunter2@h'}", 1) + "}": "Error spec.providers.inference.settings.project: Invalid value",
	} {
		expectReported(t, providers, "  inference: "+providers, want)
	}
	expectReported(t, "a store", "  vectorIo: {provider: stored, settings: {keys: {bakend: a, namespace: b}, note: {}}}", `
		Error spec.providers.vectorIo.settings.keys.backend: Required value
		Error spec.providers.vectorIo.settings.note: Invalid value
		Warning spec.providers.vectorIo.settings.keys.bakend`)
	// The endpoint belongs to the MCP server, not to the provider.
	expectReported(t, "MCP", "  toolRuntime: {provider: mcp, endpoint: 'http://h'}", "")
}

// An unknown type is an error if other release lines have it or it looks misspelled; else the image may provide it.
//
// Proves: R25, R34, R74.
func TestUnknownTypeSuggestsSpellingAPIOrImage(t *testing.T) {
	for providers, want := range map[string]string{
		"{provider: fulll}":           "Error spec.providers.inference.provider: Unsupported value",
		"{provider: 'remote::fulll'}": "Warning spec.providers.inference.provider",
		"{provider: homegrown}":       "Warning spec.providers.inference.provider",
		"{provider: homegrown, region: r}": `
			Error spec.providers.inference.region: Forbidden
			Warning spec.providers.inference.provider`,
		"{provider: homegrown, settings: {site: 'http://me:hunter2@h'}}": `
			Warning spec.providers.inference.provider
			Warning spec.providers.inference.settings.site`,
		"{provider: mcp}": "Error spec.providers.inference.provider: Unsupported value",
	} {
		expectReported(t, providers, "  inference: "+providers, want)
	}
	// A type of other release lines, with and without its prefix.
	for _, full := range []string{"remote::ollama", "inline::sentence-transformers"} {
		_, short, _ := strings.Cut(full, "::")
		for _, written := range []string{full, short} {
			expectReported(t, written, "  inference: {provider: '"+written+"'}", "Error spec.providers.inference.provider: Unsupported value")
		}
	}
}

// Proves: FR-031, FR-075.
func TestExampleOfAnEndpointSuitsTheType(t *testing.T) {
	for want, row := range map[string]*catalog.Endpoint{
		"for example endpoint: http://mine":                                     {Kind: catalog.EndpointURL, Schemes: []string{"bolt"}, Example: "http://mine"},
		"for example endpoint: http://backend.example.svc:8000":                 {Kind: catalog.EndpointURL},
		"for example endpoint: bolt://database.example.svc:7687":                {Kind: catalog.EndpointURL, Schemes: []string{"bolt", "neo4j"}},
		"write only host:port, for example endpoint: database.example.svc:5432": {Kind: catalog.EndpointAddress},
	} {
		var problems problem.Collector
		ResolveEndpoint("://", "spec.x", row, &problems)
		if found := problems.List(); len(found) != 1 || found[0].Fix != want {
			t.Errorf("%v, want %s", found, want)
		}
	}
}

// Other addresses have the same checks, and are returned without a trailing slash.
//
// Proves: R33, FR-075.
func TestResolveURL(t *testing.T) {
	var problems problem.Collector
	if got, ok := ResolveURL("http://h/", "spec.x", "https://collector", CredentialBySecret, &problems); got != "http://h" || !ok || len(problems.List()) > 0 {
		t.Errorf("%s, %v, %v", got, ok, problems.List())
	}
	if got, ok := ResolveURL("h", "spec.x", "https://collector", CredentialBySecret, &problems); got != "" || ok || problems.List()[0].Fix != "for example endpoint: https://collector" {
		t.Errorf("%s, %v, %v", got, ok, problems.List())
	}
	if got, ok := ResolveURL("http://me:word@h", "spec.x", "", "ask", &problems); got != "" || ok || problems.List()[1].Fix != "remove everything up to the @, and ask" {
		t.Errorf("%s, %v, %v", got, ok, problems.List())
	}
}

// Proves: FR-032, R7 (a reference without a name is skipped, because it is already reported).
func TestSecretUsesOfAnEntry(t *testing.T) {
	p := parse.Provider{Type: "vllm", Path: "spec.x", SecretRefs: []parse.SecretField{{Field: "otherKey", Ref: parse.SecretReference{Name: "s", Key: "o"}, Path: "spec.x.other"}}}
	names := func() string {
		var names []string
		for _, use := range SecretUses(&p) {
			names = append(names, use.EnvName+" "+use.Ref.Name+"/"+use.Ref.Key+" "+use.Path)
		}
		return strings.Join(names, ", ")
	}
	const other = "LLSD_VLLM_OTHER_KEY s/o spec.x.other"
	expectText(t, "without a key", names(), other)
	p.APIKey = &parse.SecretReference{Key: "k"}
	expectText(t, "without a name", names(), other)
	p.APIKey.Name = "s"
	expectText(t, "complete", names(), "LLSD_VLLM_API_KEY s/k spec.x.apiKey, "+other)
}

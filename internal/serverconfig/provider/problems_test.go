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
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// reported applies spec.providers to an empty base, and returns the sorted problems with their fixes, one per line.
func reported(t *testing.T, providers string) string {
	t.Helper()
	parsed := step.Parsed(t, "providers:\n"+providers)
	var problems problem.Collector
	Apply(t.Context(), step.Document(t, ""), invented(t), parsed.Providers, environment.NewSet(parsed.Source), &problems)
	var lines []string
	for _, p := range problems.List() {
		lines = append(lines, string(p.Severity)+" "+p.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Proves: R25, R34, R74, FR-075.
func TestEachMistakeInAnEntryHasItsMessage(t *testing.T) {
	const complete = "provider: full, endpoint: 'http://h', apiKey: {name: s, key: k}, deploymentName: d, other_secret: {name: s, key: o}, settings: {project: p}"
	for providers, want := range map[string]string{
		"{" + complete + "}": "",
		"{provider: full}": `
			Error spec.providers.inference.apiKey: Required value: remote::full does not start without it: for example apiKey: {name: <Secret>, key: <key within it>}
			Error spec.providers.inference.endpoint: Required value: remote::full has no default address: for example endpoint: http://backend.example.svc:8000
			Error spec.providers.inference.secretRefs[other_secret]: Required value: remote::full does not start without it: for example secretRefs: {other_secret: {name: <Secret>, key: <key within it>}}
			Error spec.providers.inference.settings.deployed: Required value: remote::full does not start without it: set it under settings or secretRefs
			Warning spec.providers.inference.settings.project: is empty, but remote::full is of little use without it: set it under settings or secretRefs`,
		// An invalid value is not reported as missing too.
		"{" + strings.Replace(complete, "'http://h'", "h", 1) + "}": `
			Error spec.providers.inference.endpoint: Invalid value: must begin with http:// or https://: for example endpoint: http://backend.example.svc:8000`,
		"{" + strings.Replace(complete, "{project: p}", "{project: '', inner: {}}", 1) + "}": `
			Error spec.providers.inference.settings.inner.needed: Required value: remote::full does not start without it: add it
			Warning spec.providers.inference.settings.project: is empty, but remote::full is of little use without it: set it under settings or secretRefs`,
		// A config field is set twice.
		"{" + strings.Replace(complete, "{project: p}", "{project: p, base_url: 'http://x'}", 1) + "}": `
			Error spec.providers.inference.settings.base_url: Forbidden: sets base_url of remote::full, as does spec.providers.inference.endpoint: keep one of them`,
		"{" + complete + ", secretRefs: {base_url: {name: s, key: k}}}": `
			Error spec.providers.inference.secretRefs[base_url]: Forbidden: sets base_url of remote::full, as does spec.providers.inference.endpoint: keep one of them`,
		"{" + complete + ", secretRefs: {deployed: {name: s, key: k}}}": `
			Error spec.providers.inference.secretRefs[deployed]: Forbidden: sets deployed of remote::full, as does spec.providers.inference.deploymentName: keep one of them`,
		// The name of a field of the entry is used where config fields of the server belong.
		"{" + complete + ", secretRefs: {apikey: {name: s, key: k}}}": `
			Error spec.providers.inference.secretRefs[apikey]: Invalid value: remote::full has no field of this name on release line 9.9: did you mean the field "apiKey" of the entry, next to secretRefs?`,
		"{provider: bare, secretRefs: {apikey: {name: s, key: k}}}": `
			Error spec.providers.inference.secretRefs[apikey]: Invalid value: inline::bare has no field of this name on release line 9.9, so the server ignores it: it has no fields`,
		// The type does not support these fields.
		"{provider: bare, endpoint: 'http://h', apiKey: {name: s, key: k}}": `
			Error spec.providers.inference.apiKey: Forbidden: inline::bare has no apiKey on release line 9.9: remove it; options of the provider go under settings
			Error spec.providers.inference.endpoint: Forbidden: inline::bare has no endpoint on release line 9.9: remove it; options of the provider go under settings`,
		"{provider: bare, settings: {any: 1}}": `
			Warning spec.providers.inference.settings.any: inline::bare has no field of this name on release line 9.9, so the server ignores it: it has no fields`,
		"{provider: sparse, region: r, deploymentName: d}": `
			Error spec.providers.inference.deploymentName: Forbidden: remote::sparse has no deploymentName on release line 9.9: remove it; options of the provider go under settings
			Error spec.providers.inference.region: Forbidden: remote::sparse has no region on release line 9.9: remove it: the region is part of the endpoint`,
		"{provider: old}": `
			Warning spec.providers.inference.provider: release line 9.9 still has remote::old, but deprecates it: change to another provider: this release line has bare, full, sparse`,
		// A password in a URL is reported once, for all types.
		"{" + strings.Replace(complete, "{project: p}", "{project: 'http://me:hunter2@h'}", 1) + "}": `
			Error spec.providers.inference.settings.project: Invalid value: must not contain a user name or password, because it would be readable in a ConfigMap: remove everything up to the @, or put it into an environment variable and refer to that as ${env.…}`,
	} {
		expectText(t, providers, reported(t, "  inference: "+providers), dedent(want))
	}
	expectText(t, "a store", reported(t, "  vectorIo: {provider: stored, settings: {keys: {bakend: a, namespace: b}, note: {}}}"), dedent(`
		Error spec.providers.vectorIo.settings.keys.backend: Required value: inline::stored does not start without it: add it
		Error spec.providers.vectorIo.settings.note: Invalid value: inline::stored accepts a string (put numbers and booleans in quotes) here: use such a value, or remove the field
		Warning spec.providers.vectorIo.settings.keys.bakend: inline::stored has no field of this name on release line 9.9, so the server ignores it: did you mean "backend"?`))
	// The endpoint belongs to the MCP server, not to the provider.
	expectText(t, "MCP", reported(t, "  toolRuntime: {provider: mcp, endpoint: 'http://h'}"), "")
}

func dedent(text string) string { return strings.ReplaceAll(text, "\t", "") }

// An unknown type is an error if other release lines have it or it looks misspelled; else the image may provide it.
//
// Proves: R25, R34, R74.
func TestUnknownTypeIsMisspelledOrElsewhereOrTheImages(t *testing.T) {
	const own = `the server starts only if the image provides this type; its endpoint is set as url and its key as api_key`
	for providers, want := range map[string]string{
		"{provider: fulll}": `
			Error spec.providers.inference.provider: Unsupported value: "fulll": release line 9.9 has no provider type remote::fulll for inference: did you mean "full"? If the image provides this type, write it in full: remote::fulll`,
		"{provider: 'remote::fulll'}": `
			Warning spec.providers.inference.provider: release line 9.9 has no provider type remote::fulll for inference: did you mean "full"? ` + own,
		"{provider: homegrown}": `
			Warning spec.providers.inference.provider: release line 9.9 has no provider type remote::homegrown for inference: known are bare, full, sparse; ` + own,
		"{provider: homegrown, region: r}": `
			Error spec.providers.inference.region: Forbidden: has an unknown config field for region in the unknown provider type remote::homegrown: set the provider's own field under settings
			Warning spec.providers.inference.provider: release line 9.9 has no provider type remote::homegrown for inference: known are bare, full, sparse; ` + own,
		"{provider: homegrown, settings: {site: 'http://me:hunter2@h'}}": `
			Warning spec.providers.inference.provider: release line 9.9 has no provider type remote::homegrown for inference: known are bare, full, sparse; ` + own + `
			Warning spec.providers.inference.settings.site: has user information, which looks like a credential, and anyone who can read the custom resource or its ConfigMap can read it: put it into a Secret, define a variable with it in spec.workload.overrides.env, and write ${env.<variable>} here`,
		"{provider: mcp}": `
			Error spec.providers.inference.provider: Unsupported value: "mcp": release line 9.9 has no provider type remote::mcp for inference: it is one for tool_runtime: move it to spec.providers.toolRuntime`,
	} {
		expectText(t, providers, reported(t, "  inference: "+providers), dedent(want))
	}
	// A type of other release lines, with and without its prefix.
	for _, full := range []string{"remote::ollama", "inline::sentence-transformers"} {
		lines := catalog.LinesWhere(catalog.HasProvider("inference", full))
		_, short, _ := strings.Cut(full, "::")
		want := "a server of release line 9.9 has no " + full + " for inference: choose another provider: this release line has bare, full, sparse" +
			"; or use a server of " + release.FormatLines(lines) + ", with spec.distribution.version or another image"
		for _, written := range []string{full, short} {
			if got := reported(t, "  inference: {provider: '"+written+"'}"); !strings.HasSuffix(got, want) {
				t.Errorf("%s: %s\nwant %s", written, got, want)
			}
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

// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// registering returns the facts of a resource with models, vector stores and an MCP server that the server lists.
func registering(t *testing.T) *status.Facts {
	t.Helper()
	cr := resource()
	cr.Spec.Resources = &v1alpha2.ResourcesSpec{
		Models: []apiextensionsv1.JSON{*open(`"llama3"`), *open(`{"name":"e5","modelType":"embedding","embeddingDimension":1024}`)},
		Tools:  []apiextensionsv1.JSON{*open(`{"name":"mcp::github","endpoint":"http://mcp"}`), *open(`"websearch"`)},
	}
	f := serving(t, cr)
	if f.Problems.HasErrors() {
		t.Fatal(f.Problems.Message())
	}
	// Release line 0.7 has connectors, but does not support registered vector stores.
	f.Desired.Config.Registered = append(f.Desired.Config.Registered, serverconfig.Registered{List: serverconfig.ListVectorStores, Name: "docs"})
	f.Server.Models.Entries = []serverprobe.Entry{{Provider: "vllm", Name: "vllm/e5"}, {Provider: "vllm", Name: "vllm/llama3"}}
	f.Server.Lists = map[string]serverprobe.List{
		serverconfig.ListConnectors:   {Entries: []serverprobe.Entry{{Name: "github"}, {Name: "of-the-base"}}},
		serverconfig.ListVectorStores: {Entries: []serverprobe.Entry{{Name: "docs"}, {Name: "vs_0"}}},
	}
	return f
}

// Proves: R29, R84, R82 (resources of the spec that it does not list are named; hidden, failed or cut lists do not
// count, and Ready does not depend on them).
func TestStatusListsRegisteredResources(t *testing.T) {
	set := func(list string, l serverprobe.List) func(*status.Facts) {
		return func(f *status.Facts) { f.Server.Lists[list] = l }
	}
	for name, c := range map[string]struct {
		change  func(*status.Facts)
		missing []string
		text    string // end of the message of Available
	}{
		"all of it": {func(*status.Facts) {}, nil, "are available"},
		"a model":   {func(f *status.Facts) { f.Server.Models.Entries = f.Server.Models.Entries[:1] }, []string{"models/vllm/llama3"}, "; the server does not list: models/vllm/llama3"},
		"no vector store": {
			set(serverconfig.ListVectorStores, serverprobe.List{Entries: []serverprobe.Entry{{Name: "vs_0"}}}), []string{"vectorStores/docs"}, "; the server does not list: vectorStores/docs",
		},
		"no MCP server": {set(serverconfig.ListConnectors, serverprobe.List{}), []string{"tools/mcp::github"}, "; the server does not list: tools/mcp::github"},
		"no MCP server from a range of keys": {
			func(f *status.Facts) {
				f.Desired.RemoteStores = []serverconfig.RemoteStore{{Name: "prompts", Backend: "kv_default", Type: "kv_postgres"}}
				f.Server.Lists[serverconfig.ListConnectors] = serverprobe.List{}
			}, nil, "; the server lists no connectors, although it may have them: with kv in PostgreSQL it lists them only if the " +
				"collation of the database is C: create the database with LC_COLLATE 'C'",
		},
		"one of two MCP servers": {
			func(f *status.Facts) {
				f.Desired.RemoteStores = []serverconfig.RemoteStore{{Name: "prompts", Backend: "kv_default", Type: "kv_postgres"}}
				f.Server.Lists[serverconfig.ListConnectors] = serverprobe.List{Entries: []serverprobe.Entry{{Name: "of-the-base"}}}
			}, []string{"tools/mcp::github"}, "; the server does not list: tools/mcp::github",
		},
		"a provider too": {func(f *status.Facts) {
			f.Server.Providers, f.Server.Models.Entries = f.Server.Providers[1:], f.Server.Models.Entries[1:]
		}, []string{"models/vllm/e5"}, "; the server does not list: inference/vllm, models/vllm/e5"},
		"hidden": {func(f *status.Facts) {
			hidden := serverprobe.List{Hidden: true, Error: "GET /v1/x: the server requires credentials"}
			f.Server.ProvidersHidden, f.Server.Providers, f.Server.Models = true, nil, hidden
			f.Server.Lists[serverconfig.ListConnectors], f.Server.Lists[serverconfig.ListVectorStores] = hidden, hidden
		}, nil, "; the server lists its providers, models, vector stores and connectors to authenticated callers only, so they are not compared with the configuration"},
		"one list hidden": {
			set(serverconfig.ListConnectors, serverprobe.List{Hidden: true, Error: "x"}), nil, "; the server lists its connectors to authenticated callers only, so they are not compared with the configuration",
		},
		"an error": {
			set(serverconfig.ListVectorStores, serverprobe.List{Error: "GET /v1/vector_stores: the server responds with 500 Internal Server Error"}), nil,
			"; the vector stores of the server could not be read: GET /v1/vector_stores: the server responds with 500 Internal Server Error",
		},
		"more than is read": {
			set(serverconfig.ListVectorStores, serverprobe.List{Entries: []serverprobe.Entry{{Name: "vs_0"}}, Truncated: true}), nil,
			"; the server lists more vector stores than the operator reads, so some resources of the spec may be missing",
		},
		"more than is read, with all": {set(serverconfig.ListVectorStores, serverprobe.List{Entries: []serverprobe.Entry{{Name: "docs"}}, Truncated: true}), nil, "are available"},
		"a list that was not asked":   {func(f *status.Facts) { f.Server.Lists = nil }, nil, "are available"},
		"an image's own":              {func(f *status.Facts) { f.Desired.Config = nil }, nil, "are available"},
	} {
		t.Run(name, func(t *testing.T) {
			f := registering(t)
			c.change(f)
			s := compute(t, f)
			if diff := cmp.Diff(c.missing, s.DistributionConfig.MissingResources); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if got := condition(t, &s, v1alpha2.ConditionAvailable).Message; !strings.HasSuffix(got, c.text) {
				t.Errorf("Available: %s\nwant %s", got, c.text)
			}
			if !meta.IsStatusConditionTrue(s.Conditions, v1alpha2.ConditionReady) {
				t.Error("Ready is not True")
			}
		})
	}
}

// Proves: R50, R84 (vector stores are only those of the spec; lists without a response stay, and lists without a
// request are removed).
func TestListsOfTheServerAreReported(t *testing.T) {
	f := registering(t)
	cr := f.CR
	docs, connectors := []v1alpha2.ResourceInfo{{Name: "docs"}}, []v1alpha2.ResourceInfo{{Name: "github"}, {Name: "of-the-base"}}
	cr.Status = compute(t, f)
	equal(t, "vector stores", docs, cr.Status.DistributionConfig.VectorStores)
	equal(t, "connectors", connectors, cr.Status.DistributionConfig.Connectors)

	f.Server.Lists = map[string]serverprobe.List{
		serverconfig.ListVectorStores: {Error: "x"}, serverconfig.ListConnectors: {Error: "x", Hidden: true},
		serverconfig.ListToolGroups: {Entries: []serverprobe.Entry{{Provider: "tavily", Name: "builtin::websearch"}}},
	}
	cr.Status = compute(t, f)
	equal(t, "vector stores while the server does not tell", docs, cr.Status.DistributionConfig.VectorStores)
	equal(t, "connectors while the server does not tell", connectors, cr.Status.DistributionConfig.Connectors)
	equal(t, "tool groups", []v1alpha2.ResourceInfo{{Name: "builtin::websearch", ProviderID: "tavily"}}, cr.Status.DistributionConfig.ToolGroups)

	f.Server.Lists = nil
	got := compute(t, f).DistributionConfig
	equal(t, "unrequested lists", []v1alpha2.ResourceInfo(nil), append(append(got.VectorStores, got.Connectors...), got.ToolGroups...))
}

// Proves: R84, R65 (the lists that the release line has, and vector stores only if the spec has some).
func TestRequestedLists(t *testing.T) {
	f := registering(t)
	equal(t, "lists of release line 0.7", map[string]string{
		serverconfig.ListConnectors: "/v1beta/connectors", serverconfig.ListVectorStores: "/v1/vector_stores?limit=100&order=asc",
	}, status.Lists(f.Desired, f.Distribution))
	f.Desired.Config.Registered = nil
	equal(t, "lists without vector stores", map[string]string{serverconfig.ListConnectors: "/v1beta/connectors"}, status.Lists(f.Desired, f.Distribution))
	f.Desired.Config, f.Distribution.Line = nil, nil
	equal(t, "lists of a server of an unknown release", map[string]string(nil), status.Lists(f.Desired, f.Distribution))
	equal(t, "lists without a distribution", map[string]string(nil), status.Lists(f.Desired, nil))
}

// Proves: R63 (the server's lists and the missing resources are cut, and the cut is reported).
func TestListsOfTheServerAreBounded(t *testing.T) {
	f := registering(t)
	var entries []serverprobe.Entry
	for i := range 1_000 {
		name := fmt.Sprintf("%04d%s", i, strings.Repeat("x", 200))
		entries = append(entries, serverprobe.Entry{Name: name, Provider: "p"})
		f.Desired.Config.Registered = append(f.Desired.Config.Registered,
			serverconfig.Registered{List: serverconfig.ListVectorStores, Name: name}, serverconfig.Registered{List: serverconfig.ListModels, Name: name})
	}
	for _, list := range []string{serverconfig.ListVectorStores, serverconfig.ListConnectors, serverconfig.ListToolGroups} {
		f.Server.Lists[list] = serverprobe.List{Entries: entries}
	}
	s := compute(t, f)
	if got := size(t, s); got > 128<<10 {
		t.Errorf("%d bytes", got)
	}
	d := s.DistributionConfig
	for _, list := range [][]v1alpha2.ResourceInfo{d.VectorStores, d.Connectors, d.ToolGroups} {
		if last := list[len(list)-1]; size(t, list) > 8<<10 || last.Name != "…" || !strings.HasSuffix(last.ProviderID, " more are omitted") {
			t.Errorf("%d bytes, the last: %+v", size(t, list), last)
		}
	}
	if last := d.MissingResources[len(d.MissingResources)-1]; size(t, d.MissingResources) > 8<<10 || !strings.HasSuffix(last, " more are omitted") {
		t.Errorf("%d bytes, the last: %s", size(t, d.MissingResources), last)
	}
}

// Proves: R83 (a Gateway listener without TLS exposes tokens; it is known once the HTTPRoute is admitted).
func TestReadyWarnsOfTokensWithoutEncryption(t *testing.T) {
	for name, c := range map[string]struct {
		edge      settings.EdgeKind
		auth, url string
		want      bool
	}{
		"a listener without TLS":          {settings.EdgeHTTPRoute, "kubernetes", "http://a.example", true},
		"a listener with TLS":             {settings.EdgeHTTPRoute, "kubernetes", "https://a.example", false},
		"no authentication":               {settings.EdgeHTTPRoute, "", "http://a.example", false},
		"an Ingress, of which Build says": {settings.EdgeIngress, "kubernetes", "http://a.example", false},
		"a Gateway that is not known yet": {settings.EdgeHTTPRoute, "kubernetes", "", false},
	} {
		f := serving(t, resource())
		f.Desired.Edge.Kind, f.Desired.Config.Auth.Type, f.Exposure.URL = c.edge, c.auth, c.url
		s := compute(t, f)
		if got := condition(t, &s, v1alpha2.ConditionReady); strings.Contains(got.Message, "without encryption") != c.want {
			t.Errorf("%s: %s", name, got.Message)
		}
	}
}

// A model that the spec registered once stays in the server's database, and answers.
//
// Proves: R82.
func TestModelsThatTheSpecDoesNotRegisterAreMarked(t *testing.T) {
	f := registering(t)
	f.Desired.Config.RegisteredModels = append(f.Desired.Config.RegisteredModels, "vllm/of-the-base")
	f.Server.Models.Entries = append(f.Server.Models.Entries, serverprobe.Entry{Provider: "vllm", Name: "vllm/of-the-base"},
		serverprobe.Entry{Provider: "vllm", Name: "vllm/removed"}, serverprobe.Entry{Provider: "sentence-transformers", Name: "sentence-transformers/x"})
	want := []v1alpha2.ModelInfo{
		{Name: "vllm/e5", ProviderID: "vllm"}, {Name: "vllm/llama3", ProviderID: "vllm"}, {Name: "vllm/of-the-base", ProviderID: "vllm"},
		{Name: "vllm/removed", ProviderID: "vllm", NotInSpec: true}, {Name: "sentence-transformers/x", ProviderID: "sentence-transformers"},
	}
	s := compute(t, f)
	if diff := cmp.Diff(want, s.DistributionConfig.Models); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*status.Facts){
		"a name depends on the environment": func(f *status.Facts) { f.Desired.Config.RegisteredModels = nil },
		"the image's own configuration":     func(f *status.Facts) { f.Desired.Config = nil },
	} {
		f := registering(t)
		change(f)
		for _, m := range compute(t, f).DistributionConfig.Models {
			if m.NotInSpec {
				t.Errorf("%s: %s is marked", name, m.Name)
			}
		}
	}
}

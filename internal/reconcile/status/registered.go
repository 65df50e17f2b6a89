// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// resourceKind is a kind of resource that the spec registers and the server lists.
type resourceKind struct {
	list string
	// field is the list in spec.resources, and prefix the start of its names that the server's list omits.
	field, prefix string
	// displayName is the kind's name in messages.
	displayName string
}

// resourceKinds are all kinds; spec.resources.tools becomes tool groups or connectors, depending on the release line.
var resourceKinds = []resourceKind{
	{serverconfig.ListModels, "models", "", "models"},
	{serverconfig.ListVectorStores, "vectorStores", "", "vector stores"},
	{serverconfig.ListToolGroups, "tools", "", "tool groups"},
	{serverconfig.ListConnectors, "tools", catalog.MCPToolGroups, "connectors"},
}

// vectorStoresQuery requests as many vector stores as permitted, the oldest first, before clients' own.
const vectorStoresQuery = "?limit=100&order=asc"

// Lists returns the paths of the server's lists by name; the slow one of vector stores only if the spec registers some.
func Lists(desired *build.Desired, distribution *settings.Distribution) map[string]string {
	if distribution == nil || distribution.Line == nil {
		return nil
	}
	lists := maps.Clone(distribution.Line.Lists)
	path, exists := lists[serverconfig.ListVectorStores]
	delete(lists, serverconfig.ListVectorStores)
	isVectorStore := func(r serverconfig.Registered) bool { return r.List == serverconfig.ListVectorStores }
	if exists && desired.Config != nil && slices.ContainsFunc(desired.Config.Registered, isVectorStore) {
		lists[serverconfig.ListVectorStores] = path + vectorStoresQuery
	}
	return lists
}

// setRegistered reports the server's registered resources. Lists that need credentials or failed keep their last value.
func setRegistered(f *Facts, d *v1alpha2.DistributionConfig) {
	if f.Server == nil {
		return
	}
	if f.Server.Models.Error == "" {
		d.Models = models(f)
	}
	names := f.registered()
	for list, to := range map[string]*[]v1alpha2.ResourceInfo{
		serverconfig.ListVectorStores: &d.VectorStores, serverconfig.ListToolGroups: &d.ToolGroups,
		serverconfig.ListConnectors: &d.Connectors,
	} {
		switch listed, requested := f.Server.Lists[list]; {
		case !requested:
			*to = nil
		case listed.Error != "":
		case list == serverconfig.ListVectorStores: // the names of clients' vector stores may be private
			*to = resources(slices.DeleteFunc(slices.Clone(listed.Entries), func(e serverprobe.Entry) bool {
				return !slices.Contains(names[list], e.Name)
			}))
		default:
			*to = resources(listed.Entries)
		}
	}
	if f.isApplied() {
		d.MissingResources = truncate(compare(f).missing, maxResources, func(text string) string { return "…: " + text })
	}
}

func resources(entries []serverprobe.Entry) []v1alpha2.ResourceInfo {
	var list []v1alpha2.ResourceInfo
	for _, e := range entries {
		list = append(list, v1alpha2.ResourceInfo{Name: e.Name, ProviderID: e.Provider})
	}
	return truncate(list, maxResources, func(text string) v1alpha2.ResourceInfo {
		return v1alpha2.ResourceInfo{Name: "…",
			ProviderID: text}
	})
}

func (f *Facts) registered() map[string][]string {
	names := map[string][]string{}
	if f.Desired == nil || f.Desired.Config == nil {
		return names
	}
	for _, r := range f.Desired.Config.Registered {
		names[r.List] = append(names[r.List], r.Name)
	}
	return names
}

type comparison struct {
	// missing are resources that the server does not list, as "<list of spec.resources>/<name>".
	missing []string
	// hidden are the kinds that need credentials.
	hidden []string
	// notes are reasons why other kinds could not be compared.
	notes []string
}

func compare(f *Facts) (c comparison) {
	names := f.registered()
	for _, kind := range resourceKinds {
		listed, requested := f.Server.Lists[kind.list]
		if kind.list == serverconfig.ListModels {
			listed, requested = f.Server.Models, true
		}
		if !requested || len(names[kind.list]) == 0 {
			continue
		}
		switch {
		case listed.Hidden:
			c.hidden = append(c.hidden, kind.displayName)
			continue
		case listed.Error != "" && kind.list == serverconfig.ListModels: // BackendsReachable reports it
			continue
		case listed.Error != "":
			c.notes = append(c.notes, fmt.Sprintf("the %s of the server could not be read: %s", kind.displayName,
				listed.Error))
			continue
		}
		listedNames := make(map[string]bool, len(listed.Entries))
		for _, e := range listed.Entries {
			listedNames[e.Name] = true
		}
		var missing []string
		for _, name := range names[kind.list] {
			if !listedNames[name] {
				missing = append(missing, kind.field+"/"+kind.prefix+name)
			}
		}
		switch {
		case len(missing) > 0 && len(listed.Entries) == 0 && kind.list == serverconfig.ListConnectors &&
			hasConnectorsInKeys(f):
			c.notes = append(c.notes, "the server lists no connectors, although it may have them: with kv in PostgreSQL it "+
				"lists them only if the collation of the database is C: create the database with LC_COLLATE 'C'")
		case len(missing) > 0 && listed.Truncated:
			c.notes = append(c.notes, "the server lists more "+kind.displayName+
				" than the operator reads, so some resources of the spec may be missing")
		default:
			c.missing = append(c.missing, missing...)
		}
	}
	return c
}

// hasConnectorsInKeys reports whether the connectors are in the kv backend of PostgreSQL. The server reads a list from
// a range of keys, which is empty in a collation such as en_US.utf8.
func hasConnectorsInKeys(f *Facts) bool {
	if f.Distribution == nil || f.Distribution.Line == nil ||
		f.Distribution.Line.Stores["connectors"].Kind != catalog.KV {
		return false
	}
	return slices.ContainsFunc(f.Desired.RemoteStores, func(s serverconfig.RemoteStore) bool {
		return s.Type == "kv_postgres"
	})
}

// authenticatedLists returns the remark that lists need credentials, which the operator lacks, or "".
func authenticatedLists(f *Facts, kinds []string) string {
	if f.Server.ProvidersHidden {
		kinds = append([]string{"providers"}, kinds...)
	}
	if len(kinds) == 0 {
		return ""
	}
	text := "the server lists its " + joinWords(kinds) + " to authenticated callers only, so they are not compared " +
		"with the configuration"
	if auth := f.Desired.Auth(); auth.Type != "" {
		text += " (authentication " + auth.Type + ")"
	}
	return text
}

func joinWords(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// knownModels returns the names of the models that the running configuration registers; nil if they are not known.
func (f *Facts) knownModels() map[string]bool {
	if !f.isApplied() || f.Desired.Config == nil || f.Desired.Config.RegisteredModels == nil || f.Desired.IsHeld() {
		return nil
	}
	known := map[string]bool{}
	for _, name := range f.Desired.Config.RegisteredModels {
		known[name] = true
	}
	return known
}

// models returns the server's models, those of the spec's providers first and in its order.
func models(f *Facts) []v1alpha2.ModelInfo {
	rank := map[string]int{}
	if f.Desired != nil && f.Desired.Config != nil {
		for i, p := range f.Desired.Config.Providers {
			rank[p.ID] = i - len(f.Desired.Config.Providers)
		}
	}
	known := f.knownModels()
	var list []v1alpha2.ModelInfo
	for _, m := range f.Server.Models.Entries {
		_, fromSpec := rank[m.Provider]
		list = append(list, v1alpha2.ModelInfo{
			Name: m.Name, ProviderID: m.Provider, NotInSpec: known != nil && fromSpec && !known[m.Name],
		})
	}
	slices.SortStableFunc(list, func(a, b v1alpha2.ModelInfo) int {
		return cmp.Compare(rank[a.ProviderID], rank[b.ProviderID])
	})
	return truncate(list, maxModels, func(text string) v1alpha2.ModelInfo {
		return v1alpha2.ModelInfo{Name: "…",
			ProviderID: text}
	})
}

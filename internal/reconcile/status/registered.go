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
	// list is the name of the server's list.
	list string
	// field is the list of spec.resources, and prefix what a name there begins with that the server's list does without.
	field, prefix string
	// called is what it is called in a message.
	called string
}

// resourceKinds are all of them. A release line has tool groups or connectors, and spec.resources.tools becomes what it
// has.
var resourceKinds = []resourceKind{
	{serverconfig.ListModels, "models", "", "models"},
	{serverconfig.ListVectorStores, "vectorStores", "", "vector stores"},
	{serverconfig.ListToolGroups, "tools", "", "tool groups"},
	{serverconfig.ListConnectors, "tools", catalog.MCPToolGroups, "connectors"},
}

// firstVectorStores asks for as many vector stores as each release line permits, those first that are there for the
// longest time: clients create their own while the server runs.
const firstVectorStores = "?limit=100&order=asc"

// Lists are the lists that a server is asked for to know Facts.Server, by name. The one of vector stores is among them
// where the spec registers some: the server takes time for each of its clients' to make it.
func Lists(of *build.Desired, by *settings.Distribution) map[string]string {
	if by == nil || by.Line == nil {
		return nil
	}
	lists := maps.Clone(by.Line.Lists)
	path, there := lists[serverconfig.ListVectorStores]
	delete(lists, serverconfig.ListVectorStores)
	if there && of.Config != nil && slices.ContainsFunc(of.Config.Registered, func(r serverconfig.Registered) bool {
		return r.List == serverconfig.ListVectorStores
	}) {
		lists[serverconfig.ListVectorStores] = path + firstVectorStores
	}
	return lists
}

// setRegistered reports what the server has registered. What it lists to nobody without credentials, or failed to list,
// stays as it was.
func setRegistered(f *Facts, d *v1alpha2.DistributionConfig) {
	if f.Server == nil {
		return
	}
	if f.Server.Models.Unknown == "" {
		d.Models = models(f)
	}
	names := f.registered()
	for list, to := range map[string]*[]v1alpha2.ResourceInfo{
		serverconfig.ListVectorStores: &d.VectorStores, serverconfig.ListToolGroups: &d.ToolGroups,
		serverconfig.ListConnectors: &d.Connectors,
	} {
		switch listed, asked := f.Server.Lists[list]; {
		case !asked:
			*to = nil
		case listed.Unknown != "":
		case list == serverconfig.ListVectorStores: // how clients call theirs is their own affair
			*to = resources(slices.DeleteFunc(slices.Clone(listed.Entries), func(e serverprobe.Entry) bool {
				return !slices.Contains(names[list], e.Name)
			}))
		default:
			*to = resources(listed.Entries)
		}
	}
	if f.inForce() {
		d.MissingResources = some(compare(f).missing, maxResources, func(text string) string { return "…: " + text })
	}
}

func resources(entries []serverprobe.Entry) []v1alpha2.ResourceInfo {
	var list []v1alpha2.ResourceInfo
	for _, e := range entries {
		list = append(list, v1alpha2.ResourceInfo{Name: e.Name, ProviderID: e.Provider})
	}
	return some(list, maxResources, func(text string) v1alpha2.ResourceInfo {
		return v1alpha2.ResourceInfo{Name: "…",
			ProviderID: text}
	})
}

// registered are the names of the resources of the spec in each list of the server.
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

// comparison is what came of looking for the resources of the spec in the server's lists.
type comparison struct {
	// missing are those that it does not list, as "<list of spec.resources>/<name>".
	missing []string
	// hidden names the kinds that it lists to authenticated callers only.
	hidden []string
	// remarks are what kept others from being compared.
	remarks []string
}

// compare looks for the resources of the spec in what the server lists.
func compare(f *Facts) (c comparison) {
	names := f.registered()
	for _, kind := range resourceKinds {
		listed, asked := f.Server.Lists[kind.list]
		if kind.list == serverconfig.ListModels {
			listed, asked = f.Server.Models, true
		}
		if !asked || len(names[kind.list]) == 0 {
			continue
		}
		switch {
		case listed.Hidden:
			c.hidden = append(c.hidden, kind.called)
			continue
		case listed.Unknown != "" && kind.list == serverconfig.ListModels: // BackendsReachable reports it
			continue
		case listed.Unknown != "":
			c.remarks = append(c.remarks, fmt.Sprintf("the server could not be asked for its %s: %s", kind.called,
				listed.Unknown))
			continue
		}
		there := make(map[string]bool, len(listed.Entries))
		for _, e := range listed.Entries {
			there[e.Name] = true
		}
		var absent []string
		for _, name := range names[kind.list] {
			if !there[name] {
				absent = append(absent, kind.field+"/"+kind.prefix+name)
			}
		}
		switch {
		case len(absent) > 0 && listed.Cut:
			c.remarks = append(c.remarks, "the server lists more "+kind.called+" than the operator reads, so it is not known "+
				"whether it has all of the spec")
		default:
			c.missing = append(c.missing, absent...)
		}
	}
	return c
}

// hiddenLists says why the operator cannot compare what the server lists to authenticated callers only: it has no
// credentials, and sends none. It is empty where the server hides nothing that would be compared.
func hiddenLists(f *Facts, kinds []string) string {
	if f.Server.ProvidersHidden {
		kinds = append([]string{"providers"}, kinds...)
	}
	if len(kinds) == 0 {
		return ""
	}
	text := "the server lists its " + enumerated(kinds) + " to authenticated callers only, so they are not compared " +
		"with the configuration"
	if auth := f.Desired.Auth(); auth.Type != "" {
		text += " (authentication " + auth.Type + ")"
	}
	return text
}

// enumerated is a list of words in a sentence.
func enumerated(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// models lists what the server lists, those of the providers of the spec first and in its order.
func models(f *Facts) []v1alpha2.ModelInfo {
	rank := map[string]int{}
	if f.Desired != nil && f.Desired.Config != nil {
		for i, p := range f.Desired.Config.Providers {
			rank[p.ID] = i - len(f.Desired.Config.Providers)
		}
	}
	var list []v1alpha2.ModelInfo
	for _, m := range f.Server.Models.Entries {
		list = append(list, v1alpha2.ModelInfo{Name: m.Name, ProviderID: m.Provider})
	}
	slices.SortStableFunc(list, func(a, b v1alpha2.ModelInfo) int {
		return cmp.Compare(rank[a.ProviderID], rank[b.ProviderID])
	})
	return some(list, maxModels, func(text string) v1alpha2.ModelInfo {
		return v1alpha2.ModelInfo{Name: "…",
			ProviderID: text}
	})
}

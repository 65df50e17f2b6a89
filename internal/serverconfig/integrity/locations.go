// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// locations reports a provider of the spec that shares its storage location with another provider or the server.
func (c *check) locations() {
	ofSpec := map[string]string{}
	for _, group := range c.groups {
		for i := range group.Providers {
			ofSpec[group.API.Name+"/"+group.Providers[i].EffectiveID()] = group.Providers[i].Path
		}
	}
	first := map[string]string{}
	for _, location := range storeLocations(c.doc.Stores()) {
		first[location] = "storage.stores"
	}
	for entry := range c.doc.Providers() {
		id := entry.Identity()
		if id.Presence == document.Disabled {
			continue
		}
		owner := entry.API + "/" + id.ID
		for _, location := range c.locationsOf(entry) {
			other, taken := first[location]
			if !taken {
				first[location] = owner
				continue
			}
			if at := cmp.Or(ofSpec[owner], ofSpec[other]); at != "" && other != owner {
				c.problems.Add(problem.Problem{
					Reason: problem.SharedStorageLocation, Path: at, Type: field.ErrorTypeForbidden,
					Detail: fmt.Sprintf("%s and %s would share the storage location %s", other, owner, location),
					Fix:    "set a different namespace, table or file for each under settings",
				})
			}
		}
	}
}

func (c *check) locationsOf(entry document.Entry) []string {
	locations := storeLocations(entry.Config())
	if row, ok := c.line.Provider(entry.API, entry.Type()); ok && row.DataPath != "" {
		if file := document.Text(document.Child(entry.Config(), row.DataPath)); file != "" {
			locations = append(locations, "file "+file)
		}
	}
	return locations
}

// storeLocations returns the namespaces and tables in storage backends that a tree refers to.
func storeLocations(n *yaml.Node) []string {
	var locations []string
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		backend, name := document.Text(document.Child(n, "backend")), document.Text(document.Child(n, kind.LocationField()))
		if backend != "" && name != "" {
			locations = append(locations, strings.ReplaceAll(kind.LocationField(), "_name", "")+" "+name+" of backend "+backend)
		}
	}
	for _, item := range document.Items(n) {
		locations = append(locations, storeLocations(item)...)
	}
	for _, value := range document.Members(n) {
		locations = append(locations, storeLocations(value)...)
	}
	return locations
}

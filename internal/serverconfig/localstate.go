// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// LocalState names what a server that runs a base configuration as it is keeps on the disk of its own pod, sorted.
func LocalState(base *Base) []string { return localState(base.Edit(), nil) }

// localState names what a server keeps on the disk of its own pod: storage backends that are files, and providers of
// files and of vector stores that run within the server. given are the environment variables that are known to be set.
func localState(doc *document.Document, given document.Variables) []string {
	var names []string
	for name, backend := range document.Members(doc.Backends()) {
		if strings.HasSuffix(document.Text(document.Child(backend, "type")), "_sqlite") {
			names = append(names, "storage backend "+name)
		}
	}
	enabled := doc.EnabledProviders(given)
	for entry := range doc.Providers() {
		name := document.ProviderName{API: entry.API, ID: entry.Identity().ID}
		if (entry.API == "files" || entry.API == "vector_io") && strings.HasPrefix(entry.Type(), "inline::") &&
			slices.Contains(enabled, name) {
			names = append(names, "provider "+name.API+"/"+name.ID)
		}
	}
	slices.Sort(names)
	return names
}

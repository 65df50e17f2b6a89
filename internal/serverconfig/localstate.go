// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// LocalState names the state on the disk of the pod for a base that runs unchanged, sorted.
func LocalState(base *Base) []string { return localState(base.Edit(), nil) }

// localState names the state on the disk of the pod: file backends, and inline providers of files and vector stores.
// given are the variables known to be set.
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

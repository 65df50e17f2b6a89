// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// loadingProviders are the types of inference providers that load models from Hugging Face into the server.
var loadingProviders = []string{"inline::sentence-transformers", "inline::transformers"}

// localModels returns the ids at Hugging Face of the registered models that the server itself loads, sorted. Default
// models of a base are not registered: a server may never use them.
func localModels(doc *document.Document) []string {
	loads := map[string]bool{}
	for entry := range doc.Providers() {
		if entry.API == parse.APIInference.Name &&
			slices.Contains(loadingProviders, document.Text(document.Child(entry.Node, "provider_type"))) {
			loads[document.IdentityOf(document.Child(entry.Node, "provider_id")).ID] = true
		}
	}
	var models []string
	for _, entry := range document.Items(doc.Registered("models")) {
		id := cmp.Or(document.Text(document.Child(entry, "provider_model_id")),
			document.Text(document.Child(entry, "model_id")))
		isFile := path.IsAbs(id) || strings.HasPrefix(id, ".")
		if loads[document.IdentityOf(document.Child(entry, "provider_id")).ID] && id != "" && !isFile &&
			!document.HasReference(id) {
			models = append(models, id)
		}
	}
	slices.Sort(models)
	return slices.Compact(models)
}

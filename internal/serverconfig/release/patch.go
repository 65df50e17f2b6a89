// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// ForPatch returns a base without provider types and config fields that an older patch release does not have.
func ForPatch(base []byte, line *catalog.Line) ([]byte, error) {
	if !line.Older() {
		return base, nil
	}
	root, err := document.Read(base)
	if err != nil {
		return nil, err
	}
	for api, entries := range document.Members(document.Child(root, "providers")) {
		entries.Content = slices.DeleteFunc(entries.Content, func(entry *yaml.Node) bool {
			row, known := line.Provider(api, document.Text(document.Child(entry, "provider_type")))
			if !known {
				return true
			}
			config := document.Child(entry, "config")
			for _, name := range document.Keys(config) {
				if _, known := row.Fields[name]; !known {
					document.Drop(config, name)
				}
			}
			return false
		})
	}
	return yaml.Marshal(root)
}

// LaterPatch returns a fix that names the first later patch release with the condition, or "".
func LaterPatch(line *catalog.Line, holds func(*catalog.Line) bool) string {
	if since := line.Since(holds); since != "" {
		return "use release " + since + " or a later one"
	}
	return ""
}

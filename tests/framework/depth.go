// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"path/filepath"
	"strings"
)

// DepthPolicy is the text of the policy that the overlay without webhooks has for administrators, for the custom resources of one namespace.
func DepthPolicy(namespace string) (string, error) {
	var text strings.Builder
	for _, name := range []string{"policy.yaml", "binding.yaml"} {
		file, err := os.ReadFile(filepath.Join(Root(), "config", "overlays", "namespaced", "admin", "depth", name))
		if err != nil {
			return "", err
		}
		text.WriteString("\n---\n" + strings.ReplaceAll(string(file), "ame: depth\n", "ame: depth-"+namespace+"\n"))
	}
	text.WriteString("  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: " + namespace + "}}}\n")
	return text.String(), nil
}

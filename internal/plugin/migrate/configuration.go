// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

// withResources returns the documents with a resource in place of each configuration of a server, and the documents
// together with the ConfigMaps that these resources name.
func withResources(ctx context.Context, documents []*manifest.Document, notes io.Writer) (list,
	given []*manifest.Document) {
	for _, d := range documents {
		if !isConfiguration(d.Object) {
			list = append(list, d)
			continue
		}
		resource, configMap := resourceFor(ctx, d, notes)
		if resource == nil {
			list = append(list, d)
			continue
		}
		list, given = append(list, resource), append(given, configMap)
	}
	return list, append(slices.Clone(list), given...)
}

// resourceFor returns a resource of starter that brings the configuration, and its ConfigMap. The release line is the
// one for which the configuration needs the fewest changes.
func resourceFor(ctx context.Context, d *manifest.Document, notes io.Writer) (resource, configMap *manifest.Document) {
	content, err := cli.YAML(d.Object)
	if err != nil {
		return nil, nil
	}
	name, line := nameFor(d.Object), lineOf(ctx, content)
	_, _ = fmt.Fprintf(notes, "note: %s is taken for a server of the distribution starter, release line %s: change "+
		"spec.distribution if it is for another one\n", d.Position(), line.Name)
	metadata := func() map[string]any { return map[string]any{"name": name} }
	resource = &manifest.Document{File: d.File, Line: d.Line, Object: map[string]any{
		"apiVersion": v1alpha2.GroupVersion.String(), "kind": v1alpha2.Kind, "metadata": metadata(),
		"spec": map[string]any{
			"distribution":   map[string]any{"name": starter, "version": line.Name},
			"overrideConfig": map[string]any{"configMapName": name},
		},
	}}
	configMap = &manifest.Document{File: d.File, Line: d.Line, Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(),
		"data": map[string]any{names.ConfigKey: string(content)},
	}}
	return resource, configMap
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// nameFor returns a name for the resource of a configuration: that of its distribution, or my-stack.
func nameFor(configuration map[string]any) string {
	for _, field := range []string{"distro_name", "image_name"} {
		text, _ := configuration[field].(string)
		name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
		if name != "" && name[0] >= 'a' && len(name) <= 50 {
			return name
		}
	}
	return "my-stack"
}

// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
)

// WhySkipped returns why a verb skips a document that Recognizes rejects although it concerns this operator, and what
// to do: an OpenShift template with custom resources, or an OGXServer. It is empty for any other document.
func WhySkipped(d *manifest.Document, verb string) string {
	file := d.File
	if file == manifest.StdinFile {
		file = "FILE"
	}
	if IsOGXServer(d) {
		return fmt.Sprintf("skipped %s: it belongs to the operator of OGX, the successor of llama-stack: convert it: "+
			"kubectl llamastack convert -f %s --to %s", Describe(d), file, v1alpha2.GroupVersion)
	}
	if names := customResourcesIn(d); len(names) > 0 {
		return fmt.Sprintf("skipped %s with %s %s: fill in its parameters: oc process --local -f %s | kubectl llamastack %s "+
			"-f -", Describe(d), v1alpha2.Kind, limits.Names(names), file, verb)
	}
	return ""
}

// Describe returns kind and name of a document for messages.
func Describe(d *manifest.Document) string {
	if d.Kind() == "" {
		return "a document without a kind"
	}
	return strings.TrimSpace(d.Kind() + " " + d.Name())
}

// customResourcesIn returns the names of the custom resources in an OpenShift template; old ones are of v1.
func customResourcesIn(d *manifest.Document) (names []string) {
	group, _, grouped := strings.Cut(d.APIVersion(), "/")
	if d.Kind() != "Template" || grouped && group != "template.openshift.io" {
		return nil
	}
	list, _ := d.Object["objects"].([]any)
	for _, item := range list {
		object, _ := item.(map[string]any)
		if inner := (&manifest.Document{Object: object}); Recognizes(inner) {
			names = append(names, cmp.Or(inner.Name(), "(no name)"))
		}
	}
	return names
}

// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const mirrorSets = `
- {kind: ImageDigestMirrorSet, metadata: {name: b}, spec: {imageDigestMirrors: [
    {source: docker.io/ogxai, mirrors: [mirror.example:5000/ogxai, second.example/ogxai/]},
    {source: registry.example/only, mirrors: [mirror.example/only], mirrorSourcePolicy: NeverContactSource},
    {source: "*.redhat.example", mirrors: [mirror.example/redhat]}]}}
- {kind: ImageContentSourcePolicy, metadata: {name: a}, spec: {repositoryDigestMirrors: [
    {source: docker.io/ogxai, mirrors: [first.example/ogxai]},
    {source: docker.io/ogxai/distribution-starter, mirrors: [exact.example/starter]},
    {source: nowhere.example, mirrors: []}]}}
- {kind: ImageTagMirrorSet, metadata: {name: c}, spec: {imageTagMirrors: [
    {source: docker.io, mirrors: [tags.example/hub], mirrorSourcePolicy: NeverContactSource}]}}
- {kind: ImageTagMirrorSet, metadata: {name: broken}, spec: {imageTagMirrors: [1, {source: 2}, {source: "", mirrors: x}, {mirrors: [3]}], imageDigestMirrors: 4}}
- {kind: ImageTagMirrorSet, metadata: {name: none}}
`

func clusterMirrors(t *testing.T, text string) settings.ClusterMirrors {
	t.Helper()
	var sets []map[string]any
	framework.NoError(t, yaml.Unmarshal([]byte(text), &sets))
	var list []unstructured.Unstructured
	for _, set := range sets {
		list = append(list, unstructured.Unstructured{Object: set})
	}
	return settings.ReadClusterMirrors(list)
}

// Proves: FR-027f (the longest source decides, for tags or digests, and the source itself is used if allowed).
func TestLocationsFollowTheMirrorsOfTheCluster(t *testing.T) {
	mirrors := clusterMirrors(t, mirrorSets)
	for image, want := range map[string][]string{
		"ogxai/other@" + digest:                                {"first.example/ogxai/other@" + digest, "mirror.example:5000/ogxai/other@" + digest, "second.example/ogxai/other@" + digest, "ogxai/other@" + digest},
		"docker.io/ogxai/distribution-starter@" + digest:       {"exact.example/starter@" + digest, "docker.io/ogxai/distribution-starter@" + digest},
		"docker.io/ogxai/distribution-starter:1.4.0@" + digest: {"exact.example/starter:1.4.0@" + digest, "docker.io/ogxai/distribution-starter:1.4.0@" + digest},
		"ogxai/distribution-starter:1.4.0":                     {"tags.example/hub/ogxai/distribution-starter:1.4.0"},
		"ogxaix/server@" + digest:                              {"ogxaix/server@" + digest},
		"registry.example/only/server@" + digest:               {"mirror.example/only/server@" + digest},
		"registry.example/only/server:1":                       {"registry.example/only/server:1"},
		"registry.redhat.example/ai/server@" + digest:          {"mirror.example/redhat/ai/server@" + digest, "registry.redhat.example/ai/server@" + digest},
		"redhat.example/ai/server@" + digest:                   {"redhat.example/ai/server@" + digest},
		"nowhere.example/server@" + digest:                     {"nowhere.example/server@" + digest},
		"Not A Reference":                                      {"Not A Reference"},
	} {
		if diff := cmp.Diff(want, mirrors.Locations(image)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", image, diff)
		}
	}
	if got := settings.ClusterMirrors(nil).Locations("a"); len(got) != 1 || got[0] != "a" {
		t.Errorf("without mirrors: %v", got)
	}
}

// Proves: R63.
func TestMirrorsOfTheClusterHaveBounds(t *testing.T) {
	const entry = "- {kind: ImageDigestMirrorSet, metadata: {name: m%d}, spec: {imageDigestMirrors: [%s]}}\n"
	one := fmt.Sprintf("{source: registry.example, mirrors: [%s]}", strings.Repeat("m.example, ", 50))
	text := ""
	for n := range 30 {
		text += fmt.Sprintf(entry, n, strings.Repeat(one+", ", 50))
	}
	mirrors := clusterMirrors(t, text)
	if got := mirrors.Locations("registry.example/a@" + digest); len(mirrors) != 1000 || len(got) != 5 {
		t.Errorf("%d sources, %v", len(mirrors), got)
	}
}

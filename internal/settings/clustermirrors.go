// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"slices"
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	// maxMirrored bounds the sources that are read of a cluster's mirrors, and maxTried how many mirrors of one are tried.
	maxMirrored = 1000
	maxTried    = 4
)

// ClusterMirrors are where the nodes of an OpenShift cluster look for images before they ask the registry that the
// image names. Nodes follow them by themselves: the references in pods stay as they are.
type ClusterMirrors []clusterMirror

type clusterMirror struct {
	// source is a registry or the first parts of a repository; "*.example.com" stands for all registries below a domain.
	source    string
	mirrors   []string
	ofTags    bool
	onlyThere bool // the source is never asked
}

// mirrorFields are the fields of a spec with mirrors: of ImageDigestMirrorSets, of ImageContentSourcePolicies, which
// they replace, and of ImageTagMirrorSets.
var mirrorFields = []struct {
	name   string
	ofTags bool
}{{"imageDigestMirrors", false}, {"repositoryDigestMirrors", false}, {"imageTagMirrors", true}}

// ReadClusterMirrors reads ImageDigestMirrorSets, ImageTagMirrorSets and ImageContentSourcePolicies, in the order of
// their names. What is not as OpenShift defines it is left out.
func ReadClusterMirrors(sets []unstructured.Unstructured) ClusterMirrors {
	sets = slices.SortedFunc(slices.Values(sets), func(a, b unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetKind(), b.GetKind()))
	})
	var all ClusterMirrors
	for i := range sets {
		for _, f := range mirrorFields {
			entries, _, _ := unstructured.NestedFieldNoCopy(sets[i].Object, "spec", f.name)
			list, _ := entries.([]any)
			for _, entry := range list[:min(len(list), maxMirrored-len(all))] {
				if m, ok := readMirror(entry); ok {
					m.ofTags = f.ofTags
					all = append(all, m)
				}
			}
		}
	}
	return all
}

func readMirror(entry any) (m clusterMirror, ok bool) {
	fields, _ := entry.(map[string]any)
	m.source, _ = fields["source"].(string)
	m.onlyThere = fields["mirrorSourcePolicy"] == "NeverContactSource"
	mirrors, _ := fields["mirrors"].([]any)
	for _, mirror := range mirrors[:min(len(mirrors), maxTried)] {
		if text, isText := mirror.(string); isText && text != "" && len(text) <= limits.ImageBytes {
			m.mirrors = append(m.mirrors, strings.TrimSuffix(text, "/"))
		}
	}
	return m, m.source != "" && len(m.source) <= limits.ImageBytes
}

// Locations returns where an image is looked for, in this order: at the mirrors of the longest source that matches, and
// then where the image says, if the mirrors permit it.
func (m ClusterMirrors) Locations(image string) []string {
	ref, err := reference.ParseReference(image)
	if err != nil {
		return []string{image}
	}
	_, byDigest := ref.(reference.Digest)
	repository := withoutIndex(ref.Context().Name())
	var found []string
	longest, onlyThere := 0, false
	for i := range m {
		rest, matches := m[i].match(repository)
		if m[i].ofTags == byDigest || !matches || len(m[i].source) < longest {
			continue
		}
		if len(m[i].source) > longest {
			longest, onlyThere, found = len(m[i].source), false, nil
		}
		onlyThere = onlyThere || m[i].onlyThere
		for _, mirror := range m[i].mirrors {
			found = append(found, mirror+rest+suffix(image))
		}
	}
	found = found[:min(len(found), maxTried)]
	if !onlyThere || len(found) == 0 {
		found = append(found, image)
	}
	return found
}

// match returns what follows the source in a repository.
func (m *clusterMirror) match(repository string) (rest string, matches bool) {
	if domain, wild := strings.CutPrefix(m.source, "*"); wild {
		host, _, _ := strings.Cut(repository, "/")
		return repository[len(host):], strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain)
	}
	rest, matches = strings.CutPrefix(repository, withoutIndex(m.source))
	return rest, matches && (rest == "" || rest[0] == '/')
}

// WithClusterMirrors returns the settings with the mirrors of the cluster.
func (s *Settings) WithClusterMirrors(mirrors ClusterMirrors) *Settings {
	completed := *s
	completed.Registries.Cluster = mirrors
	return &completed
}

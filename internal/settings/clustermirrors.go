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
	// maxMirrorSources bounds the sources of the cluster's mirrors, maxMirrors the mirrors of one source.
	maxMirrorSources = 1000
	maxMirrors       = 4
)

// ClusterMirrors are the image mirrors of an OpenShift cluster. Nodes apply them when pulling; references in pods do
// not change.
type ClusterMirrors []clusterMirror

type clusterMirror struct {
	// source is a registry or the start of a repository; "*.example.com" matches all subdomains.
	source             string
	mirrors            []string
	forTags            bool
	neverContactSource bool
}

// mirrorFields are the spec fields of ImageDigestMirrorSet, ImageContentSourcePolicy and ImageTagMirrorSet that list
// mirrors.
var mirrorFields = []struct {
	name   string
	ofTags bool
}{{"imageDigestMirrors", false}, {"repositoryDigestMirrors", false}, {"imageTagMirrors", true}}

// ReadClusterMirrors reads ImageDigestMirrorSets, ImageTagMirrorSets and ImageContentSourcePolicies in the order of
// their names. Malformed entries are skipped.
func ReadClusterMirrors(sets []unstructured.Unstructured) ClusterMirrors {
	sets = slices.SortedFunc(slices.Values(sets), func(a, b unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetName(), b.GetName()), strings.Compare(a.GetKind(), b.GetKind()))
	})
	var all ClusterMirrors
	for i := range sets {
		for _, f := range mirrorFields {
			entries, _, _ := unstructured.NestedFieldNoCopy(sets[i].Object, "spec", f.name)
			list, _ := entries.([]any)
			for _, entry := range list[:min(len(list), maxMirrorSources-len(all))] {
				if m, ok := readMirror(entry); ok {
					m.forTags = f.ofTags
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
	m.neverContactSource = fields["mirrorSourcePolicy"] == "NeverContactSource"
	mirrors, _ := fields["mirrors"].([]any)
	for _, mirror := range mirrors[:min(len(mirrors), maxMirrors)] {
		if text, isText := mirror.(string); isText && text != "" && len(text) <= limits.ImageBytes {
			m.mirrors = append(m.mirrors, strings.TrimSuffix(text, "/"))
		}
	}
	return m, m.source != "" && len(m.source) <= limits.ImageBytes
}

// Locations returns the references to try for an image: the mirrors of the longest matching source, then the image
// itself unless the mirrors exclude it.
func (m ClusterMirrors) Locations(image string) []string {
	ref, err := reference.ParseReference(image)
	if err != nil {
		return []string{image}
	}
	_, byDigest := ref.(reference.Digest)
	repository := withoutIndex(ref.Context().Name())
	var found []string
	longest, neverContactSource := 0, false
	for i := range m {
		rest, matches := m[i].match(repository)
		if m[i].forTags == byDigest || !matches || len(m[i].source) < longest {
			continue
		}
		if len(m[i].source) > longest {
			longest, neverContactSource, found = len(m[i].source), false, nil
		}
		neverContactSource = neverContactSource || m[i].neverContactSource
		for _, mirror := range m[i].mirrors {
			found = append(found, mirror+rest+suffix(image))
		}
	}
	found = found[:min(len(found), maxMirrors)]
	if !neverContactSource || len(found) == 0 {
		found = append(found, image)
	}
	return found
}

// match returns the part of the repository after the source.
func (m *clusterMirror) match(repository string) (rest string, matches bool) {
	if domain, wild := strings.CutPrefix(m.source, "*"); wild {
		host, _, _ := strings.Cut(repository, "/")
		return repository[len(host):], strings.HasPrefix(domain, ".") && strings.HasSuffix(host, domain)
	}
	rest, matches = strings.CutPrefix(repository, withoutIndex(m.source))
	return rest, matches && (rest == "" || rest[0] == '/')
}

// WithClusterMirrors returns a copy of the settings with the mirrors.
func (s *Settings) WithClusterMirrors(mirrors ClusterMirrors) *Settings {
	completed := *s
	completed.Registries.Cluster = mirrors
	return &completed
}

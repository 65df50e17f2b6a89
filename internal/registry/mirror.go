// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// Mirror says that images whose repository begins with Prefix are found below Location: "docker.io/llamastack" at
// "registry.example.com/mirror/llamastack". Both are a registry, or a registry and the first parts of a repository.
type Mirror struct {
	Prefix, Location string
}

// Mirrors are mirrors in any order: the longest prefix counts.
type Mirrors []Mirror

// Rewrite returns the reference at its mirror, and unchanged where no mirror has it. Tag and digest stay.
func (m Mirrors) Rewrite(reference string) (string, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return "", &Error{Kind: InvalidReference, Reference: reference, Err: err}
	}
	repository := canonical(ref.Context())
	best := -1
	for i, mirror := range m {
		prefix := strings.TrimSuffix(mirror.Prefix, "/")
		if (repository == prefix || strings.HasPrefix(repository, prefix+"/")) && (best < 0 || len(prefix) > len(strings.TrimSuffix(m[best].Prefix, "/"))) {
			best = i
		}
	}
	if best < 0 {
		return reference, nil
	}
	rest := strings.TrimPrefix(repository, strings.TrimSuffix(m[best].Prefix, "/"))
	rewritten := strings.TrimSuffix(m[best].Location, "/") + rest
	separator := ":"
	if _, ok := ref.(name.Digest); ok {
		separator = "@"
	}
	return rewritten + separator + ref.Identifier(), nil
}

// leadTo reports whether a mirror is at the registry.
func (m Mirrors) leadTo(registry string) bool {
	for _, mirror := range m {
		if host, _, _ := strings.Cut(mirror.Location, "/"); host == registry {
			return true
		}
	}
	return false
}

// canonical is the repository as people write it in full: docker.io, not index.docker.io.
func canonical(repository name.Repository) string {
	registry := repository.RegistryStr()
	if registry == name.DefaultRegistry {
		registry = "docker.io"
	}
	return registry + "/" + repository.RepositoryStr()
}

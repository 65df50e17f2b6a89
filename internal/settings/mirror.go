// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
)

// dockerHub is the usual name of reference.DefaultRegistry.
const dockerHub = "docker.io"

// Mirror redirects images whose repository begins with Prefix to Location: "docker.io/llamastack" to
// "registry.example.com/mirror/llamastack".
type Mirror struct {
	Prefix   string `json:"prefix"`
	Location string `json:"location"`
}

// Mirrors are unordered; the longest matching prefix wins.
type Mirrors []Mirror

// Rewrite returns the image at its mirror, and the mirror; nil if none matches. Tag and digest are kept.
func (m Mirrors) Rewrite(image string) (string, *Mirror) {
	return m.rewrite(image, func(mirror *Mirror) (string, string) { return mirror.Prefix, mirror.Location })
}

// Origin returns the source of an image at a mirror, and the mirror; nil if none matches.
func (m Mirrors) Origin(image string) (string, *Mirror) {
	return m.rewrite(image, func(mirror *Mirror) (string, string) { return mirror.Location, mirror.Prefix })
}

func (m Mirrors) rewrite(image string, ends func(*Mirror) (from, to string)) (string, *Mirror) {
	ref, err := reference.ParseReference(image)
	if err != nil {
		return image, nil
	}
	repository := withoutIndex(ref.Context().Name())
	var best *Mirror
	longest, moved := 0, ""
	for i := range m {
		from, to := ends(&m[i])
		from = withoutIndex(strings.TrimSuffix(from, "/"))
		if rest, ok := strings.CutPrefix(repository, from); ok && (rest == "" || rest[0] == '/') && len(from) > longest {
			best, longest, moved = &m[i], len(from), strings.TrimSuffix(to, "/")+rest
		}
	}
	if best == nil {
		return image, nil
	}
	return moved + suffix(image), best
}

// suffix returns the tag and digest of an image, with separators.
func suffix(image string) string {
	start := strings.LastIndex(image, "/") + 1
	if i := strings.IndexAny(image[start:], ":@"); i >= 0 {
		return image[start+i:]
	}
	return ""
}

// withoutIndex replaces index.docker.io by docker.io.
func withoutIndex(repository string) string {
	if rest, ok := strings.CutPrefix(repository, reference.DefaultRegistry); ok && (rest == "" || rest[0] == '/') {
		return dockerHub + rest
	}
	return repository
}

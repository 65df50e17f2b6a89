// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
)

// dockerHub is how people write the registry that is reference.DefaultRegistry.
const dockerHub = "docker.io"

// Mirror says that images whose repository begins with Prefix are found below Location: "docker.io/llamastack" at
// "registry.example.com/mirror/llamastack". Both are a registry, or a registry and the first parts of a repository.
type Mirror struct {
	Prefix   string `json:"prefix"`
	Location string `json:"location"`
}

// Mirrors are mirrors in any order: the longest prefix counts.
type Mirrors []Mirror

// Rewrite returns where an image is found, and the mirror; nil where none has it, and where the image is not a
// reference. Tag and digest stay.
func (m Mirrors) Rewrite(image string) (string, *Mirror) {
	return m.move(image, func(mirror *Mirror) (string, string) { return mirror.Prefix, mirror.Location })
}

// Origin returns the image that one at a mirror is a copy of, and the mirror; nil where none is there.
func (m Mirrors) Origin(image string) (string, *Mirror) {
	return m.move(image, func(mirror *Mirror) (string, string) { return mirror.Location, mirror.Prefix })
}

func (m Mirrors) move(image string, ends func(*Mirror) (from, to string)) (string, *Mirror) {
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

// suffix is the tag and the digest of an image as written, with their separators.
func suffix(image string) string {
	start := strings.LastIndex(image, "/") + 1
	if i := strings.IndexAny(image[start:], ":@"); i >= 0 {
		return image[start+i:]
	}
	return ""
}

// withoutIndex writes Docker's registry as people do.
func withoutIndex(repository string) string {
	if rest, ok := strings.CutPrefix(repository, reference.DefaultRegistry); ok && (rest == "" || rest[0] == '/') {
		return dockerHub + rest
	}
	return repository
}

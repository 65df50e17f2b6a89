// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"regexp"
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
)

// unreadable is the text of a key in which no entries can be told apart. It harms the names and images that it may be
// about, and no others.
type unreadable struct {
	text string
	err  error
}

func newUnreadable(key, text string, err error) unreadable {
	return unreadable{text, fmt.Errorf("ConfigMap %s, key %s: not a YAML map with distribution names as keys: %w",
		ConfigMapName, key, err)}
}

// names reports whether the text may have an entry with the name: it stands before a colon.
func (u *unreadable) names(name string) bool {
	found, err := regexp.MatchString(`(^|[\s"'{,])`+regexp.QuoteMeta(name)+`["']?\s*:(\s|$|[{"'])`, u.text)
	return found || err != nil
}

// hasImage reports whether the text may have an entry with an image of the same repository, however the registry is
// written.
func (u *unreadable) hasImage(image string) bool {
	ref, err := reference.ParseReference(image)
	return err == nil && strings.Contains(u.text, strings.TrimPrefix(ref.Context().RepositoryStr(), "library/"))
}

// errorFor is what is wrong where an unreadable key may be about what a resource names: a name, or without one an
// image. The entry is what was found for it. It is nil where no key may be, and for what a ConfigMap of its own
// registers. A name that nothing else knows would come from such a key.
func (s *Settings) errorFor(found *entry, name, image string) error {
	_, known := s.entries[name]
	if found.configMap != "" {
		return nil
	}
	for i := range s.unreadable {
		u := &s.unreadable[i]
		if name != "" && (!known || u.names(name)) || name == "" && u.hasImage(image) {
			return u.err
		}
	}
	return nil
}

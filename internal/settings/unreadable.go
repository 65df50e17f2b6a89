// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"regexp"
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
)

// unreadable is the text of a key whose entries cannot be separated. It affects only the names and images that it may
// contain.
type unreadable struct {
	text string
	err  error
}

func newUnreadable(key, text string, err error) unreadable {
	return unreadable{text, fmt.Errorf("ConfigMap %s, key %s: not a YAML map with distribution names as keys: %w",
		ConfigMapName, key, err)}
}

// mentionsName reports whether the name occurs as a key in the text.
func (u *unreadable) mentionsName(name string) bool {
	found, err := regexp.MatchString(`(^|[\s"'{,])`+regexp.QuoteMeta(name)+`["']?\s*:(\s|$|[{"'])`, u.text)
	return found || err != nil
}

// mentionsImage reports whether the repository of the image occurs in the text.
func (u *unreadable) mentionsImage(image string) bool {
	ref, err := reference.ParseReference(image)
	return err == nil && strings.Contains(u.text, strings.TrimPrefix(ref.Context().RepositoryStr(), "library/"))
}

// errorFor returns the error of an unreadable key that may contain the name or image. A ConfigMap with
// LabelDistribution takes precedence; an unknown name may be in any unreadable key.
func (s *Settings) errorFor(found *entry, name, image string) error {
	_, known := s.entries[name]
	if found.configMap != "" {
		return nil
	}
	for i := range s.unreadable {
		u := &s.unreadable[i]
		if name != "" && (!known || u.mentionsName(name)) || name == "" && u.mentionsImage(image) {
			return u.err
		}
	}
	return nil
}

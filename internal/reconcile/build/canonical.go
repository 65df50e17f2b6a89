// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	kjson "sigs.k8s.io/json"
)

// canonicalJSON encodes v with sorted keys, so that moving a field in a Go type does not change the hash.
func canonicalJSON(v any) string {
	raw, err := json.Marshal(v)
	c := &canonical{raw: raw}
	if err == nil {
		err = c.value()
	}
	if err != nil {
		panic("what was read as JSON cannot be written as JSON: " + err.Error())
	}
	return string(c.text)
}

// canonical sorts the keys of JSON without decoding it: a tree of the largest spec would take 15 MiB.
type canonical struct {
	// raw is compact output of encoding/json, and at the read position.
	raw []byte
	at  int
	// text is the output, and sorted a buffer for the members of one object.
	text, sorted []byte
}

type member struct {
	key        string
	begin, end int
}

func (c *canonical) value() error {
	switch c.raw[c.at] {
	case '{':
		return c.object()
	case '[':
		return c.list()
	case '"':
		_, err := c.string()
		return err
	}
	end := c.at + bytes.IndexAny(c.raw[c.at:], ",]}")
	if end < c.at {
		end = len(c.raw)
	}
	scalar := c.raw[c.at:end]
	c.at = end
	if isWord := scalar[0] >= 'a'; isWord || isDigits(scalar) {
		c.text = append(c.text, scalar...)
		return nil
	}
	var number any // normalizes the notation
	return c.normalize(scalar, &number)
}

// normalize writes a scalar as encoding/json encodes it.
func (c *canonical) normalize(scalar []byte, into any) error {
	if err := kjson.UnmarshalCaseSensitivePreserveInts(scalar, into); err != nil {
		return err
	}
	text, err := json.Marshal(into)
	c.text = append(c.text, text...)
	return err
}

// isDigits reports whether a number is an integer with only one notation.
func isDigits(number []byte) bool {
	for _, b := range number {
		if b < '0' || b > '9' {
			return false
		}
	}
	return len(number) <= 18 // an int64 has 19
}

// string writes a string and returns it; most have only one notation.
func (c *canonical) string() (string, error) {
	end, plain := c.at+1, true
	for ; c.raw[end] != '"'; end++ {
		switch b := c.raw[end]; {
		case b == '\\':
			plain = false
			end++ // an escaped character does not end the string
		case b >= 0x80:
			plain = false
		}
	}
	quoted := c.raw[c.at : end+1]
	c.at = end + 1
	if plain {
		c.text = append(c.text, quoted...)
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	err := c.normalize(quoted, &s)
	return s, err
}

func (c *canonical) list() error {
	c.text = append(c.text, '[')
	for c.at++; c.raw[c.at] != ']'; {
		if c.raw[c.at] == ',' {
			c.text = append(c.text, ',')
			c.at++
		}
		if err := c.value(); err != nil {
			return err
		}
	}
	c.at++
	c.text = append(c.text, ']')
	return nil
}

func (c *canonical) object() error {
	begin := len(c.text)
	var members []member
	for c.at++; c.raw[c.at] != '}'; {
		if c.raw[c.at] == ',' {
			c.at++
		}
		from := len(c.text)
		key, err := c.string()
		if err != nil {
			return err
		}
		c.text = append(c.text, ':')
		c.at++
		if err := c.value(); err != nil {
			return err
		}
		members = append(members, member{key, from, len(c.text)})
	}
	c.at++
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	c.sorted = append(c.sorted[:0], '{')
	for i, m := range members {
		if i+1 < len(members) && members[i+1].key == m.key {
			continue // the last one counts
		}
		if len(c.sorted) > 1 {
			c.sorted = append(c.sorted, ',')
		}
		c.sorted = append(c.sorted, c.text[m.begin:m.end]...)
	}
	c.sorted = append(c.sorted, '}')
	c.text = append(c.text[:begin], c.sorted...)
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What decoded JSON takes at most, in bytes, with the copies that are made of it: for each object, each member of one, each item of
// a list, and each byte of the text. Of a typed object an item may be a struct of many fields, however little stands in it. The
// numbers were measured; docs/maintainers/performance.md has the results.
const (
	objectMemory, memberMemory, treeItemMemory, typedItemMemory, textMemory = 100, 300, 64, 900, 4
)

// memoryOf bounds what a text of JSON takes once it is decoded, with so much for each item. It decodes nothing.
func memoryOf(text []byte, item int64) int64 {
	var objects, members, items int64
	for i, quoted := 0, false; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++ // what it escapes ends nothing
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			objects++
		case c == ':':
			members++
		case c == ',', c == '[':
			items++
		}
	}
	return objects*objectMemory + members*memberMemory + items*item + int64(len(text))*textMemory
}

// parts takes one text of JSON apart without decoding or copying its larger values. A value may nest as deep as the API server lets
// it: what is around it does not count.
type parts struct {
	text    []byte
	decoder *json.Decoder
}

func newParts(text []byte) *parts {
	return &parts{text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
}

// members calls a function for each member of the object that comes next; the function reads the value.
func (p *parts) members(member func(name string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return fmt.Errorf("%v is not the name of a member", token)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	return p.expect('}')
}

// items calls a function for each item of the list that comes next; the function reads it.
func (p *parts) items(item func() error) error {
	if err := p.expect('['); err != nil {
		return err
	}
	for p.decoder.More() {
		if err := item(); err != nil {
			return err
		}
	}
	return p.expect(']')
}

// value returns the text of the value that comes next.
func (p *parts) value() ([]byte, error) {
	var text skipped
	if err := p.decoder.Decode(&text); err != nil {
		return nil, err
	}
	after := p.decoder.InputOffset()
	return p.text[after-int64(text.length) : after], nil
}

// skip reads the value that comes next.
func (p *parts) skip() error { return p.decoder.Decode(&skipped{}) }

// end fails where something follows.
func (p *parts) end() error {
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

func (p *parts) expect(want json.Delim) error {
	token, err := p.decoder.Token()
	if err == nil && token != want {
		err = fmt.Errorf("expected %v, got %.100v", want, token)
	}
	return err
}

// skipped is a value of which only the length is kept.
type skipped struct{ length int }

// UnmarshalJSON notes the length.
func (s *skipped) UnmarshalJSON(text []byte) error {
	s.length = len(text)
	return nil
}

// envelope is what reviews of both kinds have around their request.
type envelope struct {
	apiVersion, kind string
	requested        bool
}

// readEnvelope reads a review; readRequest is called for each member of its request.
func readEnvelope(body []byte, readRequest func(p *parts, name string) error) (envelope, error) {
	var e envelope
	p := newParts(body)
	err := p.members(func(name string) error {
		switch name {
		case "apiVersion":
			return p.decoder.Decode(&e.apiVersion)
		case "kind":
			return p.decoder.Decode(&e.kind)
		case "request":
			e.requested = true
			return p.members(func(name string) error { return readRequest(p, name) })
		}
		return p.skip()
	})
	if err == nil {
		err = p.end()
	}
	return e, err
}

// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// What decoded JSON and its copies take at most, in bytes: for each object, each member of one, each item of a list,
// and each byte of the text. The numbers were measured; docs/maintainers/performance.md has the results.
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

// parts decodes the outer levels of a JSON text. Nesting is counted for each value alone: the API server stores objects
// as deep as a decoder accepts, and the review around them adds levels.
type parts struct{ *json.Decoder }

// object reads the next value, an object. It decodes each member into the target of its name, or lets the target read
// it, and skips members without a target.
func (p parts) object(targets map[string]any) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		switch target := targets[name].(type) {
		case func(parts) error:
			err = target(p)
		case nil:
			err = p.Decode(&json.RawMessage{})
		default:
			err = p.Decode(target)
		}
		if err != nil {
			return err
		}
	}
	return p.expect('}')
}

func (p parts) expect(want json.Delim) error {
	token, err := p.Token()
	if err == nil && token != want {
		err = fmt.Errorf("expected %v, got %.100v", want, token)
	}
	return err
}

// envelope is what reviews of both kinds have around their request.
type envelope struct {
	apiVersion, kind string
	requested        bool
}

// read decodes a review, and the members of its request into the targets.
func (e *envelope) read(body []byte, targets map[string]any) error {
	p := parts{json.NewDecoder(bytes.NewReader(body))}
	if err := p.object(map[string]any{"apiVersion": &e.apiVersion, "kind": &e.kind, "request": func(p parts) error {
		e.requested = true
		return p.object(targets)
	}}); err != nil {
		return err
	}
	if _, err := p.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

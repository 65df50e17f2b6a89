// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The memory of decoded JSON, in bytes for each object, member, list item and byte of text. The numbers are measured;
// see docs/maintainers/performance.md.
const (
	objectMemory, memberMemory, treeItemMemory, typedItemMemory, textMemory = 100, 300, 64, 900, 4
)

// memoryOf returns an upper bound of the memory of decoded JSON, given the bytes of a list item.
func memoryOf(text []byte, item int64) int64 {
	var objects, members, items int64
	for i, quoted := 0, false; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++ // skip the escaped character
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

// decoder decodes the outer levels of a JSON text. Each inner value gets the decoder's full nesting limit, because the
// API server stores objects that deep.
type decoder struct{ *json.Decoder }

// readObject decodes the next value, an object. A target is a pointer or a func(parts) error; members without a target
// are skipped.
func (p decoder) readObject(targets map[string]any) error {
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
		case func(decoder) error:
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

func (p decoder) expect(want json.Delim) error {
	token, err := p.Token()
	if err == nil && token != want {
		err = fmt.Errorf("expected %v, got %.100v", want, token)
	}
	return err
}

type envelope struct {
	apiVersion, kind string
	requested        bool
}

// read decodes the envelope, and the members of its request into targets.
func (e *envelope) read(body []byte, targets map[string]any) error {
	p := decoder{json.NewDecoder(bytes.NewReader(body))}
	if err := p.readObject(map[string]any{"apiVersion": &e.apiVersion, "kind": &e.kind, "request": func(p decoder) error {
		e.requested = true
		return p.readObject(targets)
	}}); err != nil {
		return err
	}
	if _, err := p.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the review")
	}
	return nil
}

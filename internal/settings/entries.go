// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

var errDuplicateName = errors.New("duplicate name")

// readEntries parses a YAML map by name. If the text is invalid it parses each entry separately and returns their
// errors in broken; it fails only if entries cannot be separated.
func readEntries(text string) (entries map[string]yamlMessage, broken map[string]error, _ error) {
	err := yaml.UnmarshalStrict([]byte(text), &entries)
	if err == nil {
		return entries, nil, nil
	}
	pieces, ok := split(text)
	if !ok {
		return nil, nil, err
	}
	entries, broken = map[string]yamlMessage{}, map[string]error{}
	seen := map[string]bool{}
	for _, p := range pieces {
		var one map[string]yamlMessage
		err := yaml.UnmarshalStrict([]byte(p.text), &one)
		switch value, named := one[p.name]; {
		case seen[p.name]:
			broken[p.name] = errDuplicateName
		case err != nil:
			broken[p.name] = fmt.Errorf("starts at line %d of the key; line numbers count from there: %w", p.line+1, err)
		case !named || len(one) != 1:
			return nil, nil, fmt.Errorf("line %d: expected the name of a distribution", p.line+1)
		default:
			entries[p.name] = value
		}
		seen[p.name] = true
	}
	for name := range broken {
		delete(entries, name)
	}
	return entries, broken, nil
}

type piece struct {
	name, text string
	line       int
}

// split splits the text of a block-style map before each line that is not indented. It returns false for other text,
// such as flow style.
func split(text string) (pieces []piece, _ bool) {
	for number, line := range slices.Collect(strings.SplitAfterSeq(text, "\n")) {
		blank := strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")
		switch {
		case !blank && !strings.ContainsAny(line[:1], " \t"):
			name, _, found := strings.Cut(line, ":")
			if !found || strings.ContainsAny(name[:min(1, len(name))], "{}[]-%&*!|>") {
				return nil, false
			}
			pieces = append(pieces, piece{name: strings.Trim(strings.TrimSpace(name), `"'`), text: line, line: number})
		case len(pieces) > 0:
			pieces[len(pieces)-1].text += line
		case !blank:
			return nil, false
		}
	}
	return pieces, len(pieces) > 0
}

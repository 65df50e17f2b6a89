// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Base is a parsed base configuration. It is immutable and safe for concurrent use.
type Base struct {
	name string
	hash string
	root *yaml.Node
	// texts are the subtrees of root, already encoded.
	texts map[pieceKey]encodedPiece
}

// ParseBase parses a base configuration, expands aliases and merge keys, and drops comments. The error is a *BaseError.
func ParseBase(name string, data []byte) (*Base, error) {
	root, err := Read(data)
	if err == nil {
		err = checkShape(root)
	}
	if err != nil {
		return nil, &BaseError{Name: name, Reason: err.Error()}
	}
	sum := sha256.Sum256(data)
	return &Base{name: oneLine(name), hash: "sha256:" + hex.EncodeToString(sum[:]), root: root, texts: prepareTexts(root)},
		nil
}

// BaseError means that a base configuration is invalid.
type BaseError struct {
	Name string
	// Reason is the cause, with the line number if possible.
	Reason string
}

// BaseFix says how to fix a base configuration.
const BaseFix = "use a config.yaml of the server: a YAML map with lists of providers by API"

// Error returns the name of the base, the reason and the fix.
func (e *BaseError) Error() string {
	return limits.Message("base configuration " + e.Name + ": " + e.Reason + ": " + BaseFix)
}

// Name returns the name given to ParseBase, on one line.
func (b *Base) Name() string { return b.name }

// Hash returns "sha256:<hex>" of the parsed bytes.
func (b *Base) Hash() string { return b.hash }

// Version returns the schema version as text, and whether the base has one.
func (b *Base) Version() (string, bool) {
	version := Child(b.root, keyVersion)
	return Text(version), version != nil
}

// WithVersion returns a copy of the base with the schema version as its first key.
func (b *Base) WithVersion(version int32) *Base {
	root := *b.root
	root.Content = append([]*yaml.Node{String(keyVersion), Int(int64(version))}, without(b.root, keyVersion)...)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s: %d\n%s", keyVersion, version, b.hash))
	return &Base{name: b.name, hash: "sha256:" + hex.EncodeToString(sum[:]), root: &root, texts: prepareTexts(&root)}
}

// without returns the content of a map without one key.
func without(n *yaml.Node, key string) []*yaml.Node {
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			kept = append(kept, n.Content[i], n.Content[i+1])
		}
	}
	return kept
}

// Values returns the number of YAML nodes, including keys: each takes about 160 bytes of memory.
func (b *Base) Values() int { return count(b.root, math.MaxInt) }

// Read parses one YAML document, expands aliases and merge keys, and drops comments.
func Read(data []byte) (*yaml.Node, error) {
	if excess := limits.ScanYAML(data, limits.Limits{Bytes: limits.ConfigBytes,
		Nodes: limits.DocumentNodes}); excess != nil {
		return nil, fmt.Errorf("too large: %w", excess)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, errors.New("the document is empty")
	} else if err != nil {
		return nil, notYAML(err)
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, fmt.Errorf("line %d: there is a second document", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, notYAML(err)
	}
	e := expander{budget: limits.DocumentNodes}
	root, err := e.expand(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: the document is not a map", doc.Content[0].Line)
	}
	return root, nil
}

func notYAML(err error) error {
	return fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// expander copies a tree within the limits of a document, without aliases, merge keys, comments and anchors. The
// largest known base has about 700 nodes.
type expander struct{ budget int }

func (e *expander) expand(n *yaml.Node, depth int) (*yaml.Node, error) {
	e.budget--
	if e.budget < 0 || depth > limits.DocumentLevels {
		return nil, fmt.Errorf("line %d: too large: more than %d values or %d levels with aliases expanded", n.Line,
			limits.DocumentNodes, limits.DocumentLevels)
	}
	if n.Kind == yaml.AliasNode {
		return e.expand(n.Alias, depth+1)
	}
	// Drop flow style: in it the emitter quotes a plain 1:30, a number in YAML 1.1, which makes it a string.
	c := &yaml.Node{
		Kind: n.Kind, Style: n.Style &^ yaml.FlowStyle, Tag: n.Tag, Value: n.Value, Line: n.Line, Column: n.Column,
	}
	if n.Kind == yaml.MappingNode {
		return c, e.expandMap(c, n, depth)
	}
	for _, item := range n.Content {
		ic, err := e.expand(item, depth+1)
		if err != nil {
			return nil, err
		}
		c.Content = append(c.Content, ic)
	}
	return c, nil
}

func (e *expander) expandMap(c, n *yaml.Node, depth int) error {
	var merged []*yaml.Node
	seen := map[string]bool{}
	for pair := range slices.Chunk(n.Content, 2) {
		key, err := e.expand(pair[0], depth)
		if err != nil {
			return err
		}
		value, err := e.expand(pair[1], depth+1)
		if err != nil {
			return err
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: a key is not a scalar", key.Line)
		case key.ShortTag() == "!!merge":
			merged = append(merged, value)
			continue
		case seen[key.Value]:
			return fmt.Errorf("line %d: duplicate key %q", key.Line, key.Value)
		}
		seen[key.Value] = true
		c.Content = append(c.Content, key, value)
	}
	for _, m := range merged {
		if err := mergeInto(c, m, seen); err != nil {
			return err
		}
	}
	return nil
}

// mergeInto adds the entries of a merge key: a map, or a list of maps in which the first entry of a key wins.
func mergeInto(c, m *yaml.Node, seen map[string]bool) error {
	sources := []*yaml.Node{m}
	if m.Kind == yaml.SequenceNode {
		sources = m.Content
	}
	for _, source := range sources {
		if source.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: a merge key needs a map", source.Line)
		}
		for pair := range slices.Chunk(source.Content, 2) {
			if key := pair[0]; !seen[key.Value] {
				seen[key.Value] = true
				c.Content = append(c.Content, key, pair[1])
			}
		}
	}
	return nil
}

// checkShape checks the types that the engine relies on; null counts as absent.
func checkShape(root *yaml.Node) error {
	if kind := Child(root, "kind"); kind != nil && Child(root, "apiVersion") != nil && Child(root, "providers") == nil {
		return fmt.Errorf("line %d: a Kubernetes manifest is not a server configuration: use the value of the key "+
			"config.yaml in the ConfigMap", kind.Line)
	}
	for _, key := range []string{"server", "providers", "registered_resources", "storage", "vector_stores", "safety"} {
		if v := Child(root, key); v != nil && v.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: %s is not a map", v.Line, key)
		}
	}
	for _, key := range []string{"backends", "stores"} {
		if v := Child(Child(root, "storage"), key); v != nil && v.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: storage.%s is not a map", v.Line, key)
		}
	}
	if v := Child(root, "apis"); v != nil && v.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: apis is not a list", v.Line)
	}
	for _, key := range []string{"providers", "registered_resources"} {
		section := Child(root, key)
		for _, name := range Keys(section) {
			if err := checkListOfMaps(Child(section, name), key+"."+name); err != nil {
				return err
			}
		}
	}
	for _, list := range Keys(Child(root, "providers")) {
		for _, entry := range Items(Child(Child(root, "providers"), list)) {
			if v := Child(entry, "config"); v != nil && v.Kind != yaml.MappingNode {
				return fmt.Errorf("line %d: the config of a provider is not a map", v.Line)
			}
		}
	}
	return nil
}

func checkListOfMaps(list *yaml.Node, name string) error {
	if list == nil {
		return nil
	}
	if list.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: %s is not a list", list.Line, name)
	}
	for _, item := range list.Content {
		if item.Kind != yaml.MappingNode {
			return fmt.Errorf("line %d: an item of %s is not a map", item.Line, name)
		}
	}
	return nil
}

// ProviderVariables returns the providers ("api/id", sorted) by the environment variables that they read. It omits
// providers whose id comes from the environment.
func (b *Base) ProviderVariables() map[string][]string {
	found := map[string][]string{}
	for entry := range providers(b.root) {
		id := entry.Identity().ID
		if id == "" {
			continue
		}
		for _, name := range VariablesIn(entry.Node) {
			if !slices.Contains(found[name], entry.API+"/"+id) {
				found[name] = append(found[name], entry.API+"/"+id)
			}
		}
	}
	for _, list := range found {
		slices.Sort(list)
	}
	return found
}

// Root returns the tree of the base. Callers must not change it.
func (b *Base) Root() *yaml.Node { return b.root }

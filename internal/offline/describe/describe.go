// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Lines formats ordered release lines; three or more consecutive ones become "0.3 to 0.7".
func Lines(with, all []string) string {
	var runs []string
	for i := 0; i < len(with); {
		end := i
		for end+1 < len(with) && slices.Index(all, with[end+1]) == slices.Index(all, with[end])+1 {
			end++
		}
		switch end {
		case i:
			runs = append(runs, with[i])
		case i + 1:
			runs = append(runs, with[i], with[end])
		default:
			runs = append(runs, with[i]+" to "+with[end])
		}
		i = end + 1
	}
	return strings.Join(runs, ", ")
}

// InLines formats release lines with a noun: "release line 0.3", "release lines 0.4 to 1.5".
func InLines(with, all []string) string {
	if len(with) == 1 {
		return "release line " + with[0]
	}
	return "release lines " + Lines(with, all)
}

// TypeFrom returns the patch releases that introduced a provider type after the first one of their release line: "in
// 1.3 from 1.3.1 on".
func TypeFrom(lines []*catalog.Line, api, providerType string) []string {
	return introducedIn(lines, func(line *catalog.Line) bool { _, ok := line.Provider(api, providerType); return ok })
}

// FieldFrom returns the patch releases that introduced a config field of an existing provider type.
func FieldFrom(lines []*catalog.Line, api, providerType, name string) []string {
	return introducedIn(lines, func(line *catalog.Line) bool {
		row, ok := line.Provider(api, providerType)
		if !ok {
			return true
		}
		_, ok = row.Fields[name]
		return ok
	})
}

func introducedIn(lines []*catalog.Line, holds func(*catalog.Line) bool) []string {
	var notes []string
	for _, line := range lines {
		if first := line.From(holds); first != "" && holds(line) {
			notes = append(notes, "in "+line.Name+" from "+first+" on")
		}
	}
	return notes
}

// Kind describes the values that a field takes.
func Kind(field catalog.Field) string {
	kind := string(field.Type)
	switch {
	case len(field.AnyOf) > 0:
		each := make([]string, len(field.AnyOf))
		for i, t := range field.AnyOf {
			each[i] = string(t)
		}
		kind = strings.Join(each, " or ")
	case field.Elements != "":
		kind += " of " + string(field.Elements)
	case len(field.Values) > 0:
		kind = "one of " + strings.Join(field.Values, ", ")
	}
	limits := []string{kind}
	for _, limit := range []struct {
		words string
		value *float64
	}{{"at least", field.Min}, {"above", field.Above}, {"at most", field.Max}} {
		if limit.value != nil {
			limits = append(limits, fmt.Sprintf("%s %v", limit.words, *limit.value))
		}
	}
	return strings.Join(limits, ", ")
}

// Note is a remark about a config field of a provider type.
type Note struct {
	// Target is the field of the custom resource that sets the config field; may be empty.
	Target string
	// Text is the remark, which may be empty for a target; Names replace each %s in it.
	Text  string
	Names []string
}

// String returns the note as plain text.
func (n Note) String() string {
	text := n.Text
	for _, name := range n.Names {
		text = strings.Replace(text, "%s", name, 1)
	}
	switch {
	case n.Target == "":
		return text
	case text == "":
		return n.Target
	}
	return n.Target + " (" + text + ")"
}

// Notes returns the remarks about a config field, those with a Target first.
func Notes(row *catalog.Provider, name string) []Note {
	field := row.Fields[name]
	var notes []Note
	if e := row.Endpoint; e != nil && (name == e.Field || name == e.PortField) {
		note := Note{Target: "endpoint"}
		if e.DefaultPath != "" {
			note.Text, note.Names = "path %s by default", []string{e.DefaultPath}
		}
		notes = append(notes, note)
	}
	for _, target := range [][2]string{{row.Key, "key"}, {row.Region, "region"}, {row.DeploymentName, "deploymentName"}} {
		if target[0] == name {
			notes = append(notes, Note{Target: target[1]})
		}
	}
	endpoint := row.Endpoint != nil && row.Endpoint.Field == name
	required := field.Required || endpoint && row.Endpoint.Required
	// The operator fills in these fields.
	defaulted := required && !endpoint && (field.Store != "" || field.Nullable || name == row.DataPath)
	for text, holds := range map[string]bool{
		"required": required && !defaulted, "set if omitted": defaulted, "secret": field.Secret,
		"store (" + string(field.Store) + ")": field.Store != "",
	} {
		if holds {
			notes = append(notes, Note{Text: text})
		}
	}
	var others []string
	for other, f := range row.Fields {
		if f.AliasOf == name {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	if len(others) > 0 {
		notes = append(notes, Note{Text: "also %s" + strings.Repeat(", %s", len(others)-1), Names: others})
	}
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Compare(a.rank(), b.rank()) })
	return notes
}

func (n Note) rank() string {
	if n.Target != "" {
		return ""
	}
	return n.Text
}

// Example returns a valid entry for a provider type as YAML that begins with "providers:". api is the field under
// spec.providers.
func Example(api, providerType string, row *catalog.Provider) (string, error) {
	_, short, _ := strings.Cut(providerType, "::")
	if strings.Contains(short, "::") || strings.HasPrefix(providerType, "inline::") {
		short = providerType
	}
	entry := []member{{"provider", short}}
	if row.Endpoint != nil {
		entry = append(entry, member{"endpoint", exampleEndpoint(row)})
	}
	if row.Key != "" {
		key := mapping([]member{{"name", "my-secret"}, {"key", "token"}})
		key.Style = yaml.FlowStyle
		entry = append(entry, member{"apiKey", key})
	}
	if len(row.Example) > 0 {
		entry = append(entry, member{"settings", row.Example})
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	err := encoder.Encode(mapping([]member{{"providers", mapping([]member{{api, mapping(entry)}})}}))
	return text.String(), err
}

type member struct {
	name  string
	value any
}

func mapping(members []member) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range members {
		value, isNode := m.value.(*yaml.Node)
		if !isNode {
			value = &yaml.Node{}
			if err := value.Encode(m.value); err != nil {
				value.SetString(fmt.Sprint(m.value)) // unreachable with the catalog's examples
			}
		}
		key := &yaml.Node{}
		key.SetString(m.name)
		node.Content = append(node.Content, key, value)
	}
	return node
}

// exampleEndpoint returns an example address, with TLS if there is an API key.
func exampleEndpoint(row *catalog.Provider) string {
	switch e := row.Endpoint; {
	case e.Kind == catalog.EndpointHostPort:
		return "database.example.com:5432"
	case e.Kind == catalog.EndpointAddress:
		return "server.example.com:8080"
	case len(e.Schemes) > 0:
		return e.Schemes[0] + "://server.example.com:7687"
	case row.Key != "":
		return "https://server.example.com:8000"
	default:
		return "http://server.example.com:8000"
	}
}

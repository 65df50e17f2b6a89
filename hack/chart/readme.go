// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed README.head.md
var readmeHead string

// schema has the fields of a JSON schema that the page uses.
type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
}

// readme adds the chart's README: its head, and a table of all values in the order of values.yaml.
func readme(root string, files map[string]string) error {
	dir := filepath.Join(root, filepath.FromSlash(chartDir))
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		return err
	}
	var values yaml.Node
	if err := yaml.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	text, err = os.ReadFile(filepath.Join(dir, "values.schema.json"))
	if err != nil {
		return err
	}
	var known schema
	if err := json.Unmarshal(text, &known); err != nil {
		return fmt.Errorf("values.schema.json: %w", err)
	}
	rows, err := table("", values.Content[0], known)
	if err != nil {
		return err
	}
	files["README.md"] = "<!-- " + generated + " -->\n\n" + readmeHead + "| value | default | meaning |\n|---|---|---|\n" + rows
	return nil
}

// table returns the rows of the values below a path. A map whose schema has a description is one value.
func table(path string, values *yaml.Node, known schema) (string, error) {
	var rows strings.Builder
	for i := 0; i+1 < len(values.Content); i += 2 {
		key, value := values.Content[i].Value, values.Content[i+1]
		s, ok := known.Properties[key]
		name := strings.TrimPrefix(path+"."+key, ".")
		switch {
		case !ok:
			return "", fmt.Errorf("values.schema.json does not have %s", name)
		case s.Description == "" && len(s.Properties) == 0:
			return "", fmt.Errorf("values.schema.json has no description of %s", name)
		case s.Description == "":
			below, err := table(name, value, s)
			if err != nil {
				return "", err
			}
			rows.WriteString(below)
			continue
		}
		var content any
		if err := value.Decode(&content); err != nil {
			return "", err
		}
		text, err := json.Marshal(content)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&rows, "| `%s` | `%s` | %s |\n", name, text, s.Description)
	}
	return rows.String(), nil
}

// SPDX-License-Identifier: Apache-2.0

package dashboards

import (
	"embed"
	"encoding/json"
	"fmt"
)

//go:embed *.json
var files embed.FS

// Dashboard is what the project itself reads of a dashboard.
type Dashboard struct {
	// File is its name in this directory, and Text what Grafana imports.
	File string `json:"-"`
	Text string `json:"-"`
	// UID is part of its address in Grafana.
	UID        string  `json:"uid"`
	Title      string  `json:"title"`
	Panels     []Panel `json:"panels"`
	Templating struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// Panel is one graph, table or number.
type Panel struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Targets     []struct {
		// Expression is in PromQL, with variables of Grafana.
		Expression string `json:"expr"`
		// Instant asks for the present values only.
		Instant bool `json:"instant"`
	} `json:"targets"`
}

// Variable is a choice at the top of a dashboard.
type Variable struct {
	Name string `json:"name"`
	// Type is datasource or query, and Definition the query.
	Type       string `json:"type"`
	Definition string `json:"definition"`
}

// All returns the dashboards in the order of their file names.
func All() ([]Dashboard, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []Dashboard
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		d := Dashboard{File: e.Name(), Text: string(text)}
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		all = append(all, d)
	}
	return all, nil
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// dashboard is a table of panels, three in a row.
type dashboard struct {
	file, uid, title, description string
	variables                     []variable
	panels                        []panel
}

// variable is a choice of the values that a label of a metric has.
type variable struct{ name, label, metric string }

// panel is a graph of queries over time, or their present values if it is a number.
type panel struct {
	title, description, unit string
	number                   bool
	queries                  []query
}

// query is in PromQL. The legend names labels as {{label}}.
type query struct{ expression, legend string }

func main() {
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	for _, d := range all() {
		text, err := d.marshal()
		if err == nil {
			err = os.WriteFile(filepath.Join(*root, "config", "dashboards", d.file), text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
}

type object = map[string]any

var source = object{"type": "prometheus", "uid": "${datasource}"}

// marshal is the dashboard in the form that Grafana 10 and newer import.
func (d *dashboard) marshal() ([]byte, error) {
	variables := []object{{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}}
	for _, v := range d.variables {
		definition := fmt.Sprintf("label_values(%s, %s)", v.metric, v.label)
		variables = append(variables, object{
			"name": v.name, "label": v.name, "type": "query", "datasource": source, "refresh": 2, "sort": 1,
			"definition": definition, "query": object{"query": definition, "refId": v.name},
		})
	}
	var panels []object
	const columns, width, height = 3, 8, 8
	for i := range d.panels {
		p := d.panels[i].object(i + 1)
		p["gridPos"] = object{"x": i % columns * width, "y": i / columns * height, "w": width, "h": height}
		panels = append(panels, p)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"uid": d.uid, "title": d.title, "description": d.description, "tags": []string{"llama-stack"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "1m", "templating": object{"list": variables}, "panels": panels,
	})
	return text.Bytes(), err
}

func (p *panel) object(id int) object {
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "datasource": source, "expr": q.expression, "legendFormat": q.legend, "instant": p.number, "range": !p.number,
		})
	}
	o := object{
		"id": id, "title": p.title, "description": p.description, "type": "timeseries", "datasource": source, "targets": targets,
		"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []any{}},
		"options":     object{"tooltip": object{"mode": "multi", "sort": "desc"}, "legend": object{"displayMode": "list", "placement": "bottom"}},
	}
	if p.number {
		o["type"] = "stat"
		o["options"] = object{"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "none"}
	}
	return o
}

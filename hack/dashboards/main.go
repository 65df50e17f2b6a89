// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

type dashboard struct {
	file, uid, title, description string
	variables                     []variable
	panels                        []panel
}

// variable lets the user choose one of the values of a metric's label.
type variable struct{ name, label, metric string }

// panel is a graph of queries over time, or the current value if stat is set.
type panel struct {
	title, description string
	// unit is Grafana's name of the unit. A panel without one shows whole numbers.
	unit string
	stat *stat
	// colorByOutcome colors series by their legends, as outcomeColors says.
	colorByOutcome bool
	// width is in 24ths of the page; the default fits three panels in a row.
	width   int
	queries []query
}

// stat colors a current value: green below the threshold and red from it on, or the other way round if greenAbove.
type stat struct {
	threshold  int
	greenAbove bool
}

// outcomeColors are the colors of series, by patterns of legends.
var outcomeColors = []struct{ legends, color string }{
	{"^(success|Ready|2..)$", "green"}, {"^(error|Failed|5..)$", "red"},
	{"^(requeue|Pending|4..)$", "yellow"}, {"^(requeue_after|Initializing)$", "blue"},
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

// marshal returns the dashboard in the JSON that Grafana 10 and newer import.
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
	const row, height = 24, 8
	x, y := 0, 0
	for i := range d.panels {
		width := cmp.Or(d.panels[i].width, row/3)
		if x+width > row {
			x, y = 0, y+height
		}
		p := d.panels[i].object(i + 1)
		p["gridPos"] = object{"x": x, "y": y, "w": width, "h": height}
		panels = append(panels, p)
		x += width
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"uid": d.uid, "title": d.title, "description": d.description,
		"tags": []string{"llama-stack"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "1m", "templating": object{"list": variables}, "panels": panels,
	})
	return text.Bytes(), err
}

func (p *panel) object(id int) object {
	var targets []object
	for i, q := range p.queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "datasource": source, "expr": q.expression, "legendFormat": q.legend,
			"instant": p.stat != nil, "range": p.stat == nil,
		})
	}
	defaults, overrides := object{"unit": cmp.Or(p.unit, "short"), "min": 0}, []object{}
	if p.unit == "" {
		defaults["decimals"] = 0
	}
	o := object{
		"id": id, "title": p.title, "description": p.description, "type": "timeseries", "datasource": source,
		"targets": targets,
		"options": object{
			"tooltip": object{"mode": "multi", "sort": "desc"},
			"legend":  object{"displayMode": "list", "placement": "bottom"},
		},
	}
	if p.stat != nil {
		below, above := "green", "red"
		if p.stat.greenAbove {
			below, above = above, below
		}
		defaults["color"] = object{"mode": "thresholds"}
		defaults["thresholds"] = object{
			"mode":  "absolute",
			"steps": []object{{"color": below, "value": nil}, {"color": above, "value": p.stat.threshold}},
		}
		o["type"] = "stat"
		o["options"] = object{
			"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "value", "graphMode": "none",
			"text": object{"titleSize": 16, "valueSize": 48},
		}
	}
	if p.colorByOutcome {
		for _, c := range outcomeColors {
			overrides = append(overrides, object{
				"matcher":    object{"id": "byRegexp", "options": c.legends},
				"properties": []object{{"id": "color", "value": object{"mode": "fixed", "fixedColor": c.color}}},
			})
		}
	}
	o["fieldConfig"] = object{"defaults": defaults, "overrides": overrides}
	return o
}

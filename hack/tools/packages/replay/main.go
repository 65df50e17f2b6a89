// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/llamastack/llama-stack-k8s-operator/config/dashboards"
)

const (
	span = 6 * time.Hour
	step = time.Minute
	// warmupMinutes is the number of minutes before the pictures, because rates need earlier samples.
	warmupMinutes = 60
)

// begin is the arbitrary time that the pictures show.
var begin = time.Date(2026, 3, 2, 8, 10, 0, 0, time.UTC)

// variableValues are the values of the dashboards' variables.
var variableValues = map[string]string{"datasource": "prometheus", "namespace": "search", "server": "assistant"}

// picture is a dashboard with the responses to its queries.
type picture struct {
	File      string            `json:"file"`
	Dashboard json.RawMessage   `json:"dashboard"`
	Variables map[string]string `json:"variables"`
	// Results has the series of each query by the number of the panel.
	Results [][][]series `json:"answers"`
}

// series is a query's result: times in milliseconds, and the values, nil if not a number.
type series struct {
	Labels map[string]string `json:"labels"`
	Times  []int64           `json:"times"`
	Values []*float64        `json:"values"`
}

func main() {
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	if err := run(context.Background(), *root); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string) (err error) {
	dir, err := os.MkdirTemp("", "replay-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(dir, nil, nil, options, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := fill(ctx, db, root); err != nil {
		return err
	}
	p := &prometheus{db, promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true})}
	all, err := dashboards.All()
	if err != nil {
		return err
	}
	var pictures []picture
	for i := range all {
		drawn, err := p.draw(ctx, &all[i])
		if err != nil {
			return err
		}
		pictures = append(pictures, drawn)
	}
	return json.NewEncoder(os.Stdout).Encode(pictures)
}

type prometheus struct {
	db     *tsdb.DB
	engine *promql.Engine
}

func (p *prometheus) draw(ctx context.Context, d *dashboards.Dashboard) (picture, error) {
	drawn := picture{File: d.File, Dashboard: json.RawMessage(d.Text), Variables: map[string]string{}}
	for _, v := range d.Templating.List {
		drawn.Variables[v.Name] = variableValues[v.Name]
	}
	for _, panel := range d.Panels {
		var results [][]series
		for _, target := range panel.Targets {
			// Grafana's $__rate_interval is at least four times the scrape interval.
			expression := strings.ReplaceAll(target.Expression, "$__rate_interval", (4 * step).String())
			for name, value := range variableValues {
				expression = strings.ReplaceAll(expression, "$"+name, value)
			}
			from := begin
			if target.Instant {
				from = begin.Add(span)
			}
			found, err := p.query(ctx, expression, from)
			if err != nil {
				return drawn, fmt.Errorf("%s, %s: %w", d.File, panel.Title, err)
			}
			results = append(results, found)
		}
		drawn.Results = append(drawn.Results, results)
	}
	return drawn, nil
}

// query returns the result of a query from a time to the end.
func (p *prometheus) query(ctx context.Context, expression string, from time.Time) ([]series, error) {
	query, err := p.engine.NewRangeQuery(ctx, p.db, nil, expression, from, begin.Add(span), step)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	list := []series{}
	for _, s := range matrix {
		result := series{Labels: s.Metric.Map()}
		for _, point := range s.Floats {
			value := &point.F
			if math.IsNaN(point.F) {
				value = nil
			}
			result.Times = append(result.Times, point.T)
			result.Values = append(result.Values, value)
		}
		list = append(list, result)
	}
	return list, nil
}

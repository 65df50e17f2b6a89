// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

var (
	line = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	pair = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// recorded is a series of a scrape.
type recorded struct {
	name   string
	labels map[string]string
	value  float64
}

func read(file string) (found []recorded, err error) {
	scrape, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(scrape)); lines.Scan(); {
		m := line.FindStringSubmatch(strings.TrimSpace(lines.Text()))
		if m == nil {
			continue
		}
		r := recorded{name: m[1], labels: map[string]string{}}
		if r.value, err = strconv.ParseFloat(m[3], 64); err != nil {
			return nil, fmt.Errorf("%s: %w", r.name, err)
		}
		for _, p := range pair.FindAllStringSubmatch(m[2], -1) {
			r.labels[p[1]] = p[2]
		}
		found = append(found, r)
	}
	return found, nil
}

// markSuccessful turns a series about failures into one about successes.
func (r *recorded) markSuccessful() {
	for name, value := range map[string]string{"status": "success", "status_code": "200"} {
		if r.labels[name] != "" {
			r.labels[name] = value
		}
	}
}

// withTargetLabels returns the labels of the series as Prometheus stores it, with those of the target.
func (r *recorded) withTargetLabels(target map[string]string) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(model.MetricNameLabel, r.name)
	for _, some := range []map[string]string{r.labels, target} {
		for name, value := range some {
			b.Set(name, value)
		}
	}
	return b.Labels()
}

// isCounter reports whether the series is a counter.
func (r *recorded) isCounter() bool {
	return r.histogram() != "" || strings.HasSuffix(r.name, "_total")
}

// histogram returns the name of the histogram that the series belongs to, or "".
func (r *recorded) histogram() string {
	for _, suffix := range []string{"_bucket", "_count", "_sum"} {
		if name, found := strings.CutSuffix(r.name, suffix); found {
			return name
		}
	}
	return ""
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"hash/fnv"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/tsdb"
)

type behavior struct{ rate, median, gauge func(*recorded, int) float64 }

// target is a scrape target, which adds labels to its series.
type target struct {
	labels map[string]string
	series []recorded
	behavior
}

// fill stores six hours of the invented fleet and its operator, ordered by time.
func fill(ctx context.Context, db *tsdb.DB, root string) error {
	targets, err := allTargets(filepath.Join(root, "hack", "tools", "packages", "testdata"))
	if err != nil {
		return err
	}
	sums := map[*recorded]float64{}
	for minute := -warmupMinutes; minute <= int(span/step); minute++ {
		app := db.Appender(ctx)
		for _, t := range targets {
			for i := range t.series {
				r := &t.series[i]
				value := t.gauge(r, minute)
				if r.isCounter() {
					sums[r] += step.Seconds() * t.rate(r, minute) * r.weight(t.median(r, minute))
					value = sums[r]
				}
				if _, err := app.Append(0, r.withTargetLabels(t.labels), begin.Add(step*time.Duration(minute)).UnixMilli(), value); err != nil {
					return err
				}
			}
		}
		if err := app.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// allTargets returns the pods of the fleet and of the operator.
func allTargets(recordings string) (targets []target, err error) {
	for i := range fleet {
		s := &fleet[i]
		for _, pod := range s.pods {
			served, err := read(filepath.Join(recordings, "server.prom"))
			if err != nil {
				return nil, err
			}
			for i := range served {
				// The recorded requests failed.
				if r := &served[i]; r.labels["api"] == "responses" || r.labels["model"] == "openai/gpt-4o" {
					r.markSuccessful()
				}
			}
			labels := map[string]string{"job": "servers", "namespace": s.namespace, "pod": pod, "app_kubernetes_io_instance": s.name}
			targets = append(targets, target{labels, served, behavior{s.rate, s.median, s.gauge}})
		}
	}
	for i, pod := range operatorPods {
		served, err := read(filepath.Join(recordings, "operator.prom"))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			served = append(served, extraSeries...)
		} else { // not the leader
			served = withPrefix(served, "process_")
		}
		labels := map[string]string{"job": "llama-stack-k8s-operator-controller-manager-metrics-service", "namespace": "llama-stack-k8s-operator-system", "pod": pod}
		targets = append(targets, target{labels, served, behavior{operatorRate, operatorMedian, func(r *recorded, minute int) float64 { return operatorGauge(pod, r, minute) }}})
	}
	return targets, nil
}

func withPrefix(all []recorded, prefix string) (matching []recorded) {
	for _, r := range all {
		if strings.HasPrefix(r.name, prefix) {
			matching = append(matching, r)
		}
	}
	return matching
}

// spread is the standard deviation of the logarithm of a histogram's values.
const spread = 0.6

// weight returns what one event adds to the series, for the usual value of a histogram.
func (r *recorded) weight(median float64) float64 {
	switch {
	case strings.HasSuffix(r.name, "_sum"):
		return median * math.Exp(spread*spread/2)
	case strings.HasSuffix(r.name, "_bucket"):
		bound, err := strconv.ParseFloat(r.labels["le"], 64)
		if err != nil || bound <= 0 {
			return 0
		}
		return 0.5 * math.Erfc(-math.Log(bound/median)/(spread*math.Sqrt2))
	}
	return 1
}

// wave returns a slowly changing number from about 0.3 to 1, different for each name.
func wave(name string, minute int) float64 {
	at := float64(minute)/60 + 6*noise(name, 0)
	return 0.65 + 0.2*math.Sin(at) + 0.1*math.Sin(3.7*at) + 0.1*(noise(name, minute)-0.5)
}

func noise(name string, minute int) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name + strconv.Itoa(minute)))
	return float64(h.Sum32()*2654435761>>8) / (1 << 24)
}

// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe/prober"
)

// LookedUp counts a lookup in the cached results of registries.
func (m *Metrics) LookedUp(known bool) {
	m.lookups.WithLabelValues(map[bool]string{true: hit, false: miss}[known]).Inc()
}

// Servers returns a client that counts the requests of another one.
func (m *Metrics) Servers(by prober.Client) prober.Client { return countingClient{by, m.servers} }

type countingClient struct {
	prober.Client
	counted *prometheus.CounterVec
}

func (c countingClient) Probe(ctx context.Context, server serverprobe.Server) (*serverprobe.Observation, error) {
	observation, err := c.Client.Probe(ctx, server)
	c.counted.WithLabelValues(result(err)).Inc()
	return observation, err
}

// AskedRegistry counts a request to a registry.
func (m *Metrics) AskedRegistry(question string, err error) {
	m.registries.WithLabelValues(question, result(err)).Inc()
}

func result(err error) string {
	if err != nil {
		return Failed
	}
	return Succeeded
}

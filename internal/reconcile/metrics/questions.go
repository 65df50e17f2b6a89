// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe/prober"
)

// LookedUp counts a lookup in the cached answers of registries.
func (m *Metrics) LookedUp(known bool) {
	m.lookups.WithLabelValues(map[bool]string{true: hit, false: miss}[known]).Inc()
}

// Servers returns an asker that counts the requests of another one.
func (m *Metrics) Servers(by prober.Asker) prober.Asker { return askerOf{by, m.servers} }

type askerOf struct {
	prober.Asker
	counted *prometheus.CounterVec
}

func (a askerOf) Ask(ctx context.Context, server serverprobe.Server) (*serverprobe.Observation, error) {
	answer, err := a.Asker.Ask(ctx, server)
	a.counted.WithLabelValues(result(err)).Inc()
	return answer, err
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

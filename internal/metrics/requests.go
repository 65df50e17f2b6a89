// SPDX-License-Identifier: Apache-2.0

package metrics

// CountLookup counts a lookup in the cached answers of registries.
func (m *Metrics) CountLookup(known bool) {
	m.lookups.WithLabelValues(map[bool]string{true: hit, false: miss}[known]).Inc()
}

// CountProbe counts a request to a server.
func (m *Metrics) CountProbe(err error) { m.servers.WithLabelValues(result(err)).Inc() }

// CountRegistryRequest counts a request of this kind to a registry.
func (m *Metrics) CountRegistryRequest(kind string, err error) {
	m.registries.WithLabelValues(kind, result(err)).Inc()
}

func result(err error) string {
	if err != nil {
		return Failed
	}
	return Succeeded
}

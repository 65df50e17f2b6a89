// SPDX-License-Identifier: Apache-2.0

package metrics

// LookedUp counts a lookup in the cached answers of registries.
func (m *Metrics) LookedUp(known bool) {
	m.lookups.WithLabelValues(map[bool]string{true: hit, false: miss}[known]).Inc()
}

// AskedServer counts a request to a server.
func (m *Metrics) AskedServer(err error) { m.servers.WithLabelValues(result(err)).Inc() }

// AskedRegistry counts a request of this kind to a registry.
func (m *Metrics) AskedRegistry(kind string, err error) {
	m.registries.WithLabelValues(kind, result(err)).Inc()
}

func result(err error) string {
	if err != nil {
		return Failed
	}
	return Succeeded
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// DefaultMetricsPort is the port of the server's metrics where the resource names none: the server's own default.
const DefaultMetricsPort int32 = 9464

// MonitoringSpec lets Prometheus read the metrics of the server.
type MonitoringSpec struct {
	// Enabled makes the server serve its metrics in Prometheus' format, on a port of their own, without TLS and
	// authentication.
	// Servers can do that since OGX 1.2.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// MetricsPort is the port of the metrics. If omitted, it is 9464.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	MetricsPort *int32 `json:"metricsPort,omitempty"`
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// DefaultMetricsPort is the default port of the server's metrics.
const DefaultMetricsPort int32 = 9464

// MonitoringSpec exposes the metrics of the server to Prometheus.
type MonitoringSpec struct {
	// Enabled serves the metrics in Prometheus format on a separate port, without TLS and authentication.
	// It requires OGX 1.2 or newer, and is the default there if the server has one worker.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// MetricsPort is the port of the metrics. The default is 9464.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	MetricsPort *int32 `json:"metricsPort,omitempty"`
}

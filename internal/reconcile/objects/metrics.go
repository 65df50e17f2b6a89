// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// MetricsPortName is the name of the container port for metrics, which the PodMonitor in config/prometheus selects.
const MetricsPortName = "metrics"

// MetricsPort returns the server's metrics port, or 0 without metrics.
func MetricsPort(spec *v1alpha2.LlamaStackDistributionSpec) int32 {
	if m := spec.Monitoring; m != nil && ptr.Deref(m.Enabled, false) {
		return ptr.Deref(m.MetricsPort, v1alpha2.DefaultMetricsPort)
	}
	return 0
}

// metricsEnvironment returns the variables that make the server serve metrics to other pods.
func metricsEnvironment(p *Params) []corev1.EnvVar {
	port := MetricsPort(&p.CR.Spec)
	if port == 0 {
		return nil
	}
	var env []corev1.EnvVar
	for _, prefix := range p.MetricsVariables {
		env = append(env,
			corev1.EnvVar{Name: prefix + "_ENDPOINT_ENABLED", Value: "true"},
			corev1.EnvVar{Name: prefix + "_HOST", Value: "0.0.0.0"},
			corev1.EnvVar{Name: prefix + "_PORT", Value: strconv.Itoa(int(port))},
		)
	}
	return env
}

func containerPorts(p *Params) []corev1.ContainerPort {
	ports := []corev1.ContainerPort{
		{Name: names.ServicePortName, ContainerPort: Port(&p.CR.Spec), Protocol: corev1.ProtocolTCP},
	}
	if port := MetricsPort(&p.CR.Spec); port != 0 {
		ports = append(ports, corev1.ContainerPort{Name: MetricsPortName, ContainerPort: port, Protocol: corev1.ProtocolTCP})
	}
	return ports
}

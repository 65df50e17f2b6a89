// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// MetricsPortName is the name of the container port for metrics, which the PodMonitor in config/prometheus selects.
const MetricsPortName = "metrics"

// metricsEnvironment returns the variables that make the server serve metrics to other pods.
func metricsEnvironment(p *Params) []corev1.EnvVar {
	if p.MetricsPort == 0 {
		return nil
	}
	var env []corev1.EnvVar
	for _, prefix := range p.MetricsVariables {
		env = append(env,
			corev1.EnvVar{Name: prefix + "_ENDPOINT_ENABLED", Value: "true"},
			corev1.EnvVar{Name: prefix + "_HOST", Value: "0.0.0.0"},
			corev1.EnvVar{Name: prefix + "_PORT", Value: strconv.Itoa(int(p.MetricsPort))},
		)
	}
	return env
}

func containerPorts(p *Params) []corev1.ContainerPort {
	ports := []corev1.ContainerPort{
		{Name: names.ServicePortName, ContainerPort: Port(&p.CR.Spec), Protocol: corev1.ProtocolTCP},
	}
	if p.MetricsPort != 0 {
		ports = append(ports,
			corev1.ContainerPort{Name: MetricsPortName, ContainerPort: p.MetricsPort, Protocol: corev1.ProtocolTCP})
	}
	return ports
}

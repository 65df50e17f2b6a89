// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// fieldMapping says what becomes of one field in the other version. A path is made of JSON names; an empty one says
// that the version has no such field, so that the annotation carries it.
type fieldMapping struct {
	spoke, hub string

	// spokeUnit is the path of a field around this one, where the two make sense only together: they are kept and
	// restored as one value.
	spokeUnit string

	// spokeDefault and hubDefault are the defaults of the schemas. A value that equals its default counts as absent.
	spokeDefault, hubDefault any

	// toHub and toSpoke turn the value into the one of the other version, where that is not the same; false for none.
	toHub, toSpoke func(value any) (any, bool)

	// reconcile puts an edit that was made through v1alpha1 into the value that v1alpha2 had, where v1alpha1 can say only
	// a part of that value. edited is nil where v1alpha1 says nothing any more; false where had has no place for the edit.
	reconcile func(had, edited any) (any, bool)
}

// fieldMappings is the whole of conversion: both directions, the documentation and the tests are made from it. What is
// below a path that has a row of its own travels with it, unchanged.
var fieldMappings = []fieldMapping{
	// Distribution. The version belongs to the distribution of that name or image and to no other.
	{spoke: "spec.server.distribution", hub: "spec.distribution", toSpoke: withoutVersion},

	// Server and container.
	{spoke: "spec.replicas", hub: "spec.workload.replicas", spokeDefault: int64(1), hubDefault: int64(1)},
	{spoke: "spec.server.workers", hub: "spec.workload.workers"},
	{spoke: "spec.server.containerSpec.name", spokeDefault: "llama-stack"},
	{
		spoke: "spec.server.containerSpec.port", hub: "spec.networking.port",
		hubDefault: int64(v1alpha2.DefaultPort), toHub: unlessZero, toSpoke: unlessDefaultPort,
	},
	{spoke: "spec.server.containerSpec.resources", hub: "spec.workload.resources"},
	{spoke: "spec.server.containerSpec.env", hub: "spec.workload.overrides.env"},
	{spoke: "spec.server.containerSpec.command", hub: "spec.workload.overrides.command"},
	{spoke: "spec.server.containerSpec.args", hub: "spec.workload.overrides.args"},

	// Pod.
	{spoke: "spec.server.podOverrides.serviceAccountName", hub: "spec.workload.overrides.serviceAccountName"},
	{
		spoke: "spec.server.podOverrides.terminationGracePeriodSeconds", hub: "spec.workload.terminationGracePeriodSeconds",
		toHub: unlessNegative,
	},
	{spoke: "spec.server.podOverrides.volumes", hub: "spec.workload.overrides.volumes"},
	{spoke: "spec.server.podOverrides.volumeMounts", hub: "spec.workload.overrides.volumeMounts"},

	// Scaling and storage.
	{spoke: "spec.server.autoscaling", hub: "spec.workload.autoscaling", toHub: unlessNoAutoscaling},
	{spoke: "spec.server.podDisruptionBudget", hub: "spec.workload.podDisruptionBudget"},
	{spoke: "spec.server.topologySpreadConstraints", hub: "spec.workload.topologySpreadConstraints"},
	{spoke: "spec.server.storage", hub: "spec.workload.storage"},

	// ConfigMaps. The namespace and the keys belong to the ConfigMap of that name and to no other.
	{
		spoke: "spec.server.userConfig.configMapName", hub: "spec.overrideConfig.configMapName",
		spokeUnit: "spec.server.userConfig", toHub: unlessEmpty,
	},
	{spoke: "spec.server.userConfig.configMapNamespace", spokeUnit: "spec.server.userConfig"},
	{
		spoke: "spec.server.tlsConfig.caBundle.configMapName", hub: "spec.networking.tls.caBundle.configMapName",
		spokeUnit: "spec.server.tlsConfig.caBundle", toHub: unlessEmpty,
	},
	{spoke: "spec.server.tlsConfig.caBundle.configMapNamespace", spokeUnit: "spec.server.tlsConfig.caBundle"},
	{spoke: "spec.server.tlsConfig.caBundle.configMapKeys", spokeUnit: "spec.server.tlsConfig.caBundle"},

	// Network.
	{
		spoke: "spec.network.exposeRoute", hub: "spec.networking.expose",
		spokeDefault: false, toHub: exposeOf, toSpoke: exposeRouteOf, reconcile: reconcileExpose,
	},
	{spoke: "spec.network.allowedFrom", hub: "spec.networking.allowedFrom"},

	// What only v1alpha2 has.
	{hub: "spec.networking.tls.enabled"},
	{hub: "spec.networking.tls.secretName"},
	{hub: "spec.workload.scheduling"},
	{hub: "spec.workload.imagePullSecrets"},
	{hub: "spec.workload.podMetadata"},
	{hub: "spec.workload.resourceClaims"},
	{hub: "spec.workload.overrides.envFrom"},
	{hub: "spec.providers"},
	{hub: "spec.resources"},
	{hub: "spec.storage"},
	{hub: "spec.disabled"},
	{hub: "spec.auth"},
	{hub: "spec.monitoring"},
	{hub: "spec.externalProviders"},

	// Status: the same in both versions, nothing is made up.
	{spoke: "status", hub: "status"},
}

// unlessZero: operator release 0.9 took port 0 as no port, and v1alpha2 does not admit it.
func unlessZero(value any) (any, bool) { return value, !same(value, int64(0)) }

// unlessDefaultPort: a port that v1alpha2's schema has filled in is not one that v1alpha1 would show.
func unlessDefaultPort(value any) (any, bool) {
	return value, !same(value, int64(v1alpha2.DefaultPort))
}

// unlessNegative: v1alpha2 does not admit a negative number, and Kubernetes takes it for no time at all.
func unlessNegative(value any) (any, bool) {
	n, isInteger := value.(int64)
	return value, !isInteger || n >= 0
}

// withoutVersion: v1alpha1 has no spec.server.distribution.version.
func withoutVersion(value any) (any, bool) {
	distribution, ok := clone(value).(map[string]any)
	if !ok {
		return value, true
	}
	delete(distribution, "version")
	return distribution, true
}

// unlessEmpty: v1alpha1 admits an empty name and means no ConfigMap by it; v1alpha2 does not admit it.
func unlessEmpty(value any) (any, bool) { return value, value != "" }

// unlessNoAutoscaling: maxReplicas 0 asks for no HorizontalPodAutoscaler (R42).
func unlessNoAutoscaling(value any) (any, bool) {
	maxReplicas, found := lookup(value, []string{"maxReplicas"})
	return value, !found || !same(maxReplicas, int64(0))
}

// exposeOf: false is what an absent spec.networking.expose means.
func exposeOf(value any) (any, bool) { return value, value == true }

func exposeRouteOf(value any) (any, bool) { return true, isExposed(value) }

// isExposed reports whether a value of spec.networking.expose means exposed, as package parse does; shapes that it
// refuses do not.
func isExposed(value any) bool {
	switch value := value.(type) {
	case bool:
		return value
	case map[string]any:
		enabled := value["enabled"]
		return enabled == nil || enabled == true
	default:
		return false
	}
}

// reconcileExpose switches an object on or off and leaves the host name in it.
func reconcileExpose(had, edited any) (any, bool) {
	object, ok := clone(had).(map[string]any)
	if !ok {
		return nil, false
	}
	object["enabled"] = edited == true
	return object, true
}

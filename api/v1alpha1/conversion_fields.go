// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// fieldMapping maps a field between the versions, by paths of JSON names. If one path is empty, that version lacks the
// field and the annotation keeps it.
type fieldMapping struct {
	spoke, hub string

	// spokeUnit is the path of an enclosing field that is kept and restored as one value, if any.
	spokeUnit string

	// spokeDefault and hubDefault are the schemas' defaults. A value that equals its default counts as absent.
	spokeDefault, hubDefault any

	// toHub and toSpoke convert the value if it differs between the versions. They return false for no value.
	toHub, toSpoke func(value any) (any, bool)

	// mergeEdit merges an edit through v1alpha1 into a value of v1alpha2 that v1alpha1 expresses only in part; edited is
	// nil if v1alpha1 no longer has the field. It returns false if the edit cannot be merged.
	mergeEdit func(had, edited any) (any, bool)
}

// fieldMappings defines the conversion in both directions; documentation and tests are generated from it. Fields below
// a path with a row are moved unchanged.
var fieldMappings = []fieldMapping{
	// Distribution. The version applies only to the distribution with that name or image.
	{spoke: "spec.server.distribution", hub: "spec.distribution", toSpoke: without("version")},

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
	{
		spoke: "spec.server.autoscaling", hub: "spec.workload.autoscaling", toHub: unlessNoAutoscaling,
		toSpoke: without(autoscalingFields...), mergeEdit: mergeFields(autoscalingFields...),
	},
	{spoke: "spec.server.podDisruptionBudget", hub: "spec.workload.podDisruptionBudget"},
	{spoke: "spec.server.topologySpreadConstraints", hub: "spec.workload.topologySpreadConstraints"},
	{
		spoke: "spec.server.storage", hub: "spec.workload.storage",
		toSpoke: without(storageFields...), mergeEdit: mergeFields(storageFields...),
	},

	// ConfigMaps. Namespace and keys apply only to the ConfigMap with that name.
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
		spokeDefault: false, toHub: exposeOf, toSpoke: exposeRouteOf, mergeEdit: mergeExpose,
	},
	{
		spoke: "spec.network.allowedFrom", hub: "spec.networking.allowedFrom",
		toSpoke: without(allowedFromFields...), mergeEdit: mergeFields(allowedFromFields...),
	},

	// Fields that only v1alpha2 has.
	{hub: "spec.networking.tls.enabled"},
	{hub: "spec.networking.tls.secretName"},
	{hub: "spec.networking.tls.caBundles"},
	{hub: "spec.networking.egress"},
	{hub: "spec.networking.proxy"},
	{hub: "spec.workload.scheduling"},
	{hub: "spec.workload.imagePullSecrets"},
	{hub: "spec.workload.podMetadata"},
	{hub: "spec.workload.rollback"},
	{hub: "spec.workload.resourceClaims"},
	{hub: "spec.workload.startupTimeoutSeconds"},
	{hub: "spec.workload.modelCache"},
	{hub: "spec.workload.overrides.envFrom"},
	{hub: "spec.workload.overrides.sidecars"},
	{hub: "spec.workload.overrides.initContainers"},
	{hub: "spec.providers"},
	{hub: "spec.resources"},
	{hub: "spec.storage"},
	{hub: "spec.disabled"},
	{hub: "spec.auth"},
	{hub: "spec.monitoring"},
	{hub: "spec.externalProviders"},

	// Status: the same in both versions.
	{spoke: "status", hub: "status"},
}

// unlessZero drops port 0, which operator release 0.9 treats as unset and v1alpha2 rejects.
func unlessZero(value any) (any, bool) { return value, !equal(value, int64(0)) }

// unlessDefaultPort drops the default port of v1alpha2's schema.
func unlessDefaultPort(value any) (any, bool) {
	return value, !equal(value, int64(v1alpha2.DefaultPort))
}

// unlessNegative drops a negative number, which Kubernetes treats as zero and v1alpha2 rejects.
func unlessNegative(value any) (any, bool) {
	n, isInteger := value.(int64)
	return value, !isInteger || n >= 0
}

// The fields of spec.workload.storage, spec.workload.autoscaling and spec.networking.allowedFrom that v1alpha1 does not
// have.
var (
	storageFields     = []string{"storageClassName", "accessModes", "claimName", "whenDeleted"}
	autoscalingFields = []string{"metrics", "behavior"}
	allowedFromFields = []string{"pods", "exclusive"}
)

// without drops fields that v1alpha1 does not have.
func without(fields ...string) func(any) (any, bool) {
	return func(value any) (any, bool) {
		object, ok := clone(value).(map[string]any)
		if !ok {
			return value, true
		}
		for _, name := range fields {
			delete(object, name)
		}
		return object, true
	}
}

// mergeFields keeps fields that v1alpha1 does not have, unless the edit removes the object.
func mergeFields(fields ...string) func(had, edited any) (any, bool) {
	return func(had, edited any) (any, bool) {
		before, _ := had.(map[string]any)
		object, ok := clone(edited).(map[string]any)
		if !ok {
			return nil, false
		}
		for _, name := range fields {
			if value, found := before[name]; found {
				object[name] = value
			}
		}
		return object, true
	}
}

// unlessEmpty drops an empty name, which means no ConfigMap in v1alpha1 and is invalid in v1alpha2.
func unlessEmpty(value any) (any, bool) { return value, value != "" }

// unlessNoAutoscaling drops maxReplicas 0, which disables the HorizontalPodAutoscaler.
func unlessNoAutoscaling(value any) (any, bool) {
	maxReplicas, found := lookup(value, []string{"maxReplicas"})
	return value, !found || !equal(maxReplicas, int64(0))
}

// exposeOf drops false, the default of spec.networking.expose.
func exposeOf(value any) (any, bool) { return value, value == true }

func exposeRouteOf(value any) (any, bool) { return true, isExposed(value) }

// isExposed reports whether a value of spec.networking.expose enables exposure, like package parse. Invalid values do
// not.
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

// mergeExpose sets enabled in an object and keeps its host name.
func mergeExpose(had, edited any) (any, bool) {
	object, ok := clone(had).(map[string]any)
	if !ok {
		return nil, false
	}
	object["enabled"] = edited == true
	return object, true
}

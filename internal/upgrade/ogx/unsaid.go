// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"regexp"
	"strings"
)

// unsaid is a field that the other kind cannot express, with the fields below it.
type unsaid struct {
	// path has [] for each list, such as "spec.resources.models[].metadata".
	path string
	// detail is the reason and fix the way to keep the value.
	detail, fix string
}

const (
	inBaseConfig     = "in the ConfigMap of spec.baseConfig"
	inRegisteredBase = "the base configuration of a distribution that you register in the operator's settings, or to " +
		"the ConfigMap of spec.overrideConfig"
	byAdmission = "let an admission policy set it on the pods"
)

// unsaidByOGXServer are the fields of LlamaStackDistribution without an equivalent. Fields of v1alpha1 are those that
// the conversion annotation keeps.
var unsaidByOGXServer = []unsaid{
	{"spec.distribution.version", "an OGXServer does not name the release of the server",
		"name the image of the release in spec.distribution.image"},
	{"spec.providers.safety", "an OGXServer configures no safety providers", "configure them " + inBaseConfig},
	{"spec.providers.telemetry", "an OGXServer configures no telemetry providers",
		"set the OTEL_* variables in spec.workload.overrides.env"},
	{"spec.providers", "an OGXServer does not configure these providers", "configure them " + inBaseConfig},
	{"spec.resources.models[]", "a model of an OGXServer has only name, provider, modelType, contextLength and " +
		"quantization", "register the model " + inBaseConfig},
	{"spec.resources", "an OGXServer registers only models", "register it " + inBaseConfig},
	{"spec.storage.kv", "the kv backend of an OGXServer is sqlite or redis", "configure it " + inBaseConfig},
	{"spec.storage.sql", "the sql backend of an OGXServer has only a connection string",
		"put the parts of the database into a connection string in a Secret"},
	{"spec.storage.sql.caBundle", "a database of an OGXServer has no CA certificates of its own",
		"add the certificates to the ConfigMap of spec.networking.tls.caBundle"},
	{"spec.storage.backends", "this release of OGXServer has one kv and one sql backend",
		"configure them " + inBaseConfig},
	{"spec.storage.stores", "this release of OGXServer has the stores of its distribution",
		"assign them " + inBaseConfig},
	{"spec.disabled[]", "an OGXServer disables only batches, file_processors, files, inference, responses, " +
		"tool_runtime and vector_io", "leave the API out of the list apis " + inBaseConfig},
	{"spec.networking.expose", "an OGXServer exposes a server only with enabled and hostname",
		"make an Ingress of your own"},
	{"spec.networking.tls.secretName", "has no effect without enabled: true, and an OGXServer has no such switch",
		"set spec.networking.tls.enabled to true, or remove it"},
	{"spec.networking.allowedFrom.exclusive", "the operator of OGXServer decides what it adds",
		"check the ingress rules of its NetworkPolicy"},
	{"spec.networking.egress", "an OGXServer has only rules that are written out",
		"write them in spec.network.policy.egress"},
	{"spec.networking.proxy", "an OGXServer has no proxy settings",
		"set HTTP_PROXY, HTTPS_PROXY and NO_PROXY in spec.workload.overrides.env"},
	{"spec.auth", "an OGXServer has no authentication settings", "configure server.auth " + inBaseConfig},
	{"spec.externalProviders", "an OGXServer adds no providers from images",
		"build an image with their packages, and list them as custom providers"},
	{"spec.workload.scheduling", "an OGXServer does not say where its pods run", byAdmission},
	{"spec.workload.podMetadata", "an OGXServer has no labels and annotations of pods", byAdmission},
	{"spec.workload.terminationGracePeriodSeconds", "an OGXServer has Kubernetes' default", byAdmission},
	{"spec.workload.rollback", "an OGXServer keeps a pod that does not start", "remove it"},
	{"spec.workload.startupTimeoutSeconds", "an OGXServer has its own time for the start", byAdmission},
	{"spec.workload.modelCache", "an OGXServer has no cache of models",
		"mount it with spec.workload.overrides.volumes and volumeMounts, and set HF_HUB_CACHE and HF_HUB_OFFLINE"},
	{"spec.workload.overrides.sidecars", "an OGXServer has no further containers", byAdmission},
	{"spec.workload.overrides.initContainers", "an OGXServer has no further containers", byAdmission},
	{"spec.workload.imagePullSecrets", "an OGXServer has no image pull secrets",
		"add them to a ServiceAccount, and name it in spec.workload.overrides.serviceAccountName"},
	{"spec.workload.autoscaling", "an OGXServer scales by the average use of CPU and memory",
		"remove autoscaling, and make a HorizontalPodAutoscaler or a ScaledObject of your own for the Deployment"},
	{"spec.workload.storage", "a PVC of an OGXServer has only size and mountPath, and is deleted with the resource",
		"keep the data on a PVC of your own, and mount it with spec.workload.overrides.volumes and volumeMounts"},
	{"spec.workload.overrides.envFrom", "an OGXServer has only single variables",
		"list the variables in spec.workload.overrides.env with valueFrom"},
	{"spec.server.containerSpec.name", "the container of an OGXServer is always named ogx",
		"change what refers to the container by its name"},
	{"spec.server.userConfig", "an OGXServer reads ConfigMaps of its own namespace",
		"copy the ConfigMap into the namespace of the resource"},
	{"spec.server.tlsConfig.caBundle", "an OGXServer reads ConfigMaps of its own namespace",
		"copy the ConfigMap into the namespace of the resource"},
	{"spec", "an OGXServer cannot express this field", "keep it in a LlamaStackDistribution"},
}

// unsaidByDistribution are the fields of OGXServer without an equivalent. Some are newer than fields.txt.
var unsaidByDistribution = []unsaid{
	{"spec.baseConfig", "a LlamaStackDistribution has the base configuration of its distribution",
		"register a distribution with this configuration in the operator's settings, and name it in spec.distribution.name"},
	{"spec.overrideConfig.key", "a LlamaStackDistribution reads the key config.yaml, or run.yaml if it is the only key",
		"rename the key to config.yaml"},
	{"spec.registryRefreshIntervalSeconds", "a LlamaStackDistribution has no field for it",
		"add server.registry_refresh_interval_seconds to " + inRegisteredBase},
	{"spec.network.policy.egress", "is not a list of rules", "write it as in a NetworkPolicy"},
	{"spec.network.policy.policyTypes", "a LlamaStackDistribution cannot deny all connections of the server",
		"set spec.networking.egress with mode: Providers"},
	{"spec.network.policy", "only rules for namespaces, by name or by label key, and the port of the server become " +
		"allowedFrom", "set spec.networking.allowedFrom.pods, or create a NetworkPolicy of your own for the server's pods"},
	{"spec.network.externalAccess.tls", "a LlamaStackDistribution has only the name of a Secret for the edge",
		"make an Ingress of your own"},
	{"spec.tls.trust", "is not a reference to a key of a ConfigMap", "set name and key"},
	{"spec.tls.identity", "a LlamaStackDistribution has no client certificate for all providers",
		"put certificate and key into a Secret of type kubernetes.io/tls, and name it in tls.clientCertificate of each " +
			"provider"},
	{"spec.storage.backends", "a LlamaStackDistribution has no such field of a backend",
		"set it in " + inRegisteredBase},
	{"spec.storage.stores", "a LlamaStackDistribution names only the backend of a store",
		"set it in " + inRegisteredBase},
	{"spec.praxisMode", "a LlamaStackDistribution has no Praxis mode",
		"set spec.auth with provider: upstream-header, and spec.networking.allowedFrom"},
	{"spec", "is not a known field of OGXServer, or has a wrong value",
		"correct it, or convert the field of a newer release by hand"},
}

var index = regexp.MustCompile(`\[\d+\]`)

// reasonFor returns the row of the longest path that leads to a field, or else the last row.
func reasonFor(table []unsaid, path string) unsaid {
	path = index.ReplaceAllString(path, "[]")
	reason := table[len(table)-1]
	for _, row := range table {
		rest, leads := strings.CutPrefix(path, row.path)
		if leads && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(row.path) >= len(reason.path) {
			reason = row
		}
	}
	return reason
}

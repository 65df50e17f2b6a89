// SPDX-License-Identifier: Apache-2.0

package leaves

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// surroundings set the other fields that a field needs, by path prefix; the longest prefix applies.
var surroundings = map[string]func(*v1alpha2.LlamaStackDistributionSpec){
	"spec.workload.autoscaling.minReplicas":                       withAutoscaling,
	"spec.workload.autoscaling.targetCPUUtilizationPercentage":    withAutoscaling,
	"spec.workload.autoscaling.targetMemoryUtilizationPercentage": withAutoscaling,
	"spec.networking.tls.enabled": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{SecretName: new("llama-tls")}}
	},
	"spec.resources.vectorStores": func(s *v1alpha2.LlamaStackDistributionSpec) {
		model := `{"name":"y","provider":"openai","modelType":"embedding","embeddingDimension":4}`
		s.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: []byte(model)}}}
		withOpenAI(s)
	},
	"spec.resources.defaults.model": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: []byte(`{"name":"x","provider":"openai"}`)}}}
		withOpenAI(s)
	},
	"spec.resources.defaults.embeddingModel": func(s *v1alpha2.LlamaStackDistributionSpec) {
		model := `{"name":"y","provider":"openai","modelType":"embedding","embeddingDimension":4}`
		s.Resources = &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{{Raw: []byte(model)}}}
		withOpenAI(s)
	},
	"spec.resources.defaults.embeddingDimension": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Resources = &v1alpha2.ResourcesSpec{Defaults: &v1alpha2.ResourceDefaults{EmbeddingModel: new("openai/z")}}
		withOpenAI(s)
	},
	"spec.resources.defaults.shield": withSafety,
	"spec.monitoring":                withMetrics,
	"spec.providers.safety":          withSafety,
	"spec.resources.shields":         withSafety,
	"spec.auth.settings":             withAuth("custom"),
	"spec.auth.secretRefs":           withAuth("custom"),
	"spec.auth.accessPolicy":         withAuth("kubernetes"),
	"spec.auth.routePolicy":          withAuth("kubernetes"),
	"spec.storage.kv.type":           func(s *v1alpha2.LlamaStackDistributionSpec) { kvStorage(s).Endpoint = new("redis:6379") },
	"spec.storage.kv.endpoint":       func(s *v1alpha2.LlamaStackDistributionSpec) { kvStorage(s).Type = new(v1alpha2.KVStorageRedis) },
	"spec.storage.kv.password": func(s *v1alpha2.LlamaStackDistributionSpec) {
		*kvStorage(s) = v1alpha2.KVStorageSpec{
			Type: new(v1alpha2.KVStorageRedis), Endpoint: new("redis:6379"), Password: &v1alpha2.SecretKeyRef{Name: new("a"), Key: new("b")},
		}
	},
	"spec.storage.kv.password.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		*kvStorage(s) = v1alpha2.KVStorageSpec{Type: new(v1alpha2.KVStorageRedis), Endpoint: new("redis:6379"), Password: nestedReference()}
	},
	"spec.storage.kv.connectionString": func(s *v1alpha2.LlamaStackDistributionSpec) {
		*kvStorage(s) = v1alpha2.KVStorageSpec{Type: new(v1alpha2.KVStoragePostgres), ConnectionString: &v1alpha2.SecretKeyRef{Name: new("a"), Key: new("b")}}
	},
	"spec.storage.kv.connectionString.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		*kvStorage(s) = v1alpha2.KVStorageSpec{Type: new(v1alpha2.KVStoragePostgres), ConnectionString: nestedReference()}
	},
	"spec.storage.sql.type": func(s *v1alpha2.LlamaStackDistributionSpec) {
		sqlStorage(s).ConnectionString = &v1alpha2.SecretKeyRef{Name: new("a"), Key: new("b")}
	},
	"spec.storage.sql.connectionString": func(s *v1alpha2.LlamaStackDistributionSpec) {
		*sqlStorage(s) = v1alpha2.SQLStorageSpec{Type: new(v1alpha2.SQLStoragePostgres), ConnectionString: &v1alpha2.SecretKeyRef{Name: new("a"), Key: new("b")}}
	},
	"spec.storage.sql.connectionString.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		*sqlStorage(s) = v1alpha2.SQLStorageSpec{Type: new(v1alpha2.SQLStoragePostgres), ConnectionString: nestedReference()}
	},
}

// withOpenAI enables the provider openai of the base without a warning.
func withOpenAI(s *v1alpha2.LlamaStackDistributionSpec) {
	s.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{Env: []corev1.EnvVar{{Name: "OPENAI_API_KEY", Value: "x"}}}}
}

// withSafety sets the newest release line with safety, so that it stays when the field is removed.
func withSafety(s *v1alpha2.LlamaStackDistributionSpec) { s.Distribution.Version = new("0.7") }

// withMetrics sets a release line that serves metrics.
func withMetrics(s *v1alpha2.LlamaStackDistributionSpec) {
	s.Distribution.Version = new(catalog.Newest())
}

func withAutoscaling(s *v1alpha2.LlamaStackDistributionSpec) {
	s.Workload = &v1alpha2.WorkloadSpec{Autoscaling: &v1alpha2.AutoscalingSpec{MaxReplicas: new(int32(6000))}}
}

func withAuth(provider string) func(*v1alpha2.LlamaStackDistributionSpec) {
	return func(s *v1alpha2.LlamaStackDistributionSpec) { s.Auth = &v1alpha2.AuthSpec{Provider: &provider} }
}

func kvStorage(s *v1alpha2.LlamaStackDistributionSpec) *v1alpha2.KVStorageSpec {
	s.Storage = &v1alpha2.StateStorageSpec{KV: &v1alpha2.KVStorageSpec{}}
	return s.Storage.KV
}

func sqlStorage(s *v1alpha2.LlamaStackDistributionSpec) *v1alpha2.SQLStorageSpec {
	s.Storage = &v1alpha2.StateStorageSpec{SQL: &v1alpha2.SQLStorageSpec{}}
	return s.Storage.SQL
}

func nestedReference() *v1alpha2.SecretKeyRef {
	return &v1alpha2.SecretKeyRef{SecretKeyRef: &v1alpha2.SecretKeySelector{Name: new("a"), Key: new("b")}}
}

// Surround returns a function that sets the other fields that the field at the path needs.
func Surround(path string) func(*v1alpha2.LlamaStackDistributionSpec) {
	path = strings.TrimSuffix(path, "{}")
	var longest string
	for prefix := range surroundings {
		if (path == prefix || strings.HasPrefix(path, prefix+".")) && len(prefix) > len(longest) {
			longest = prefix
		}
	}
	if longest == "" {
		return func(*v1alpha2.LlamaStackDistributionSpec) {}
	}
	return surroundings[longest]
}

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
	"spec.workload.autoscaling.metrics":                           withAutoscaling,
	"spec.workload.autoscaling.behavior":                          withAutoscaling,
	"spec.workload.autoscaling.targetCPUUtilizationPercentage":    withAutoscaling,
	"spec.workload.autoscaling.targetMemoryUtilizationPercentage": withAutoscaling,
	"spec.networking.tls.enabled": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{SecretName: new("llama-tls")}}
	},
	"spec.networking.proxy.noProxy": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Networking = &v1alpha2.NetworkingSpec{Proxy: &v1alpha2.ProxySpec{HTTPProxy: new("http://proxy:3128")}}
	},
	"spec.networking.egress.to": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Networking = &v1alpha2.NetworkingSpec{Egress: &v1alpha2.EgressSpec{Mode: new(v1alpha2.EgressProviders)}}
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
		kv := kvStorage(s)
		kv.Type, kv.Endpoint, kv.Password = new(v1alpha2.KVStorageRedis), new("redis:6379"), reference()
	},
	"spec.storage.kv.password.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		kv := kvStorage(s)
		kv.Type, kv.Endpoint, kv.Password = new(v1alpha2.KVStorageRedis), new("redis:6379"), nestedReference()
	},
	"spec.storage.kv.connectionString": func(s *v1alpha2.LlamaStackDistributionSpec) {
		kv := kvStorage(s)
		kv.Type, kv.ConnectionString = new(v1alpha2.KVStoragePostgres), reference()
	},
	"spec.storage.kv.connectionString.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		kv := kvStorage(s)
		kv.Type, kv.ConnectionString = new(v1alpha2.KVStoragePostgres), nestedReference()
	},
	"spec.storage.stores": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Storage = &v1alpha2.StateStorageSpec{Backends: map[string]v1alpha2.StorageBackend{"mine": {Type: "sql_sqlite"}}}
	},
	"spec.storage.kv.host":     kvParts,
	"spec.storage.kv.port":     kvParts,
	"spec.storage.kv.database": kvParts,
	"spec.storage.kv.user":     kvParts,
	"spec.storage.kv.sslMode":  kvParts,
	"spec.storage.kv.caBundle": kvParts,
	"spec.storage.sql.type":    func(s *v1alpha2.LlamaStackDistributionSpec) { sqlStorage(s).ConnectionString = reference() },
	"spec.storage.sql.connectionString": func(s *v1alpha2.LlamaStackDistributionSpec) {
		sql := sqlStorage(s)
		sql.Type, sql.ConnectionString = new(v1alpha2.SQLStoragePostgres), reference()
	},
	"spec.storage.sql.connectionString.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		sql := sqlStorage(s)
		sql.Type, sql.ConnectionString = new(v1alpha2.SQLStoragePostgres), nestedReference()
	},
	"spec.storage.sql.host":     sqlParts,
	"spec.storage.sql.port":     sqlParts,
	"spec.storage.sql.database": sqlParts,
	"spec.storage.sql.user":     sqlParts,
	"spec.storage.sql.password": sqlParts,
	"spec.storage.sql.password.secretKeyRef": func(s *v1alpha2.LlamaStackDistributionSpec) {
		sqlParts(s)
		s.Storage.SQL.Password = nestedReference()
	},
	"spec.storage.sql.sslMode":  sqlParts,
	"spec.storage.sql.caBundle": sqlParts,
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

// parts returns a database in parts, whose values differ from those of the examples.
func parts() v1alpha2.DatabaseConnection {
	return v1alpha2.DatabaseConnection{Host: new("db.example"), User: new("server"), Password: reference()}
}

func kvParts(s *v1alpha2.LlamaStackDistributionSpec) {
	kv := kvStorage(s)
	kv.Type, kv.DatabaseConnection = new(v1alpha2.KVStoragePostgres), parts()
}

func sqlParts(s *v1alpha2.LlamaStackDistributionSpec) {
	sql := sqlStorage(s)
	sql.Type, sql.DatabaseConnection = new(v1alpha2.SQLStoragePostgres), parts()
}

func reference() *v1alpha2.SecretKeyRef {
	return &v1alpha2.SecretKeyRef{Name: new("a"), Key: new("b")}
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

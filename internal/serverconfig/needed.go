// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"bytes"
	"encoding/json"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/server"
)

// Needed reports whether a configuration must be generated, because the spec configures it or the server needs
// server.insecure. A nil release line is unknown.
func Needed(spec *v1alpha2.LlamaStackDistributionSpec, line *catalog.Line) bool {
	if spec.OverrideConfig != nil && spec.OverrideConfig.ConfigMapName != "" {
		return false // the user provides the configuration
	}
	if line != nil && line.NeedsInsecure {
		return true
	}
	return hasProviders(spec.Providers) || jsonFilled(spec.ExternalProviders) || hasResources(spec.Resources) ||
		hasStorage(spec.Storage) ||
		len(spec.Disabled) > 0 || server.TLSEnabled(spec) || hasAuth(spec.Auth) ||
		(spec.Workload != nil && spec.Workload.Workers != nil)
}

func hasAuth(a *v1alpha2.AuthSpec) bool {
	return a != nil && (ptr.Deref(a.Provider, "") != "" || jsonFilled(a.Settings) || jsonFilled(a.SecretRefs) ||
		jsonFilled(a.Tenancy) ||
		len(a.AccessPolicy) > 0 || len(a.RoutePolicy) > 0)
}

func hasResources(r *v1alpha2.ResourcesSpec) bool {
	return r != nil && (len(r.Models) > 0 || len(r.Shields) > 0 || len(r.Tools) > 0 || len(r.VectorStores) > 0 ||
		(r.Defaults != nil && *r.Defaults != v1alpha2.ResourceDefaults{}))
}

func hasStorage(s *v1alpha2.StateStorageSpec) bool {
	return s != nil && (s.KV != nil || s.SQL != nil || len(s.Backends) > 0 || len(s.Stores) > 0)
}

// hasProviders reports whether spec.providers has an API, or telemetry, which becomes environment variables.
func hasProviders(p *v1alpha2.ProvidersSpec) bool {
	return p != nil && slices.ContainsFunc(p.Names(), func(name string) bool { return jsonPresent(p.Field(name)) })
}

// jsonPresent reports whether an open field is set and not null.
func jsonPresent(raw *apiextensionsv1.JSON) bool {
	if raw == nil {
		return false
	}
	switch string(bytes.TrimSpace(raw.Raw)) {
	case "", "null":
		return false
	}
	return true
}

// jsonFilled reports whether an open map has an entry; {} and {inference: []} have none.
func jsonFilled(raw *apiextensionsv1.JSON) bool {
	if !jsonPresent(raw) {
		return false
	}
	var byAPI map[string]json.RawMessage
	if json.Unmarshal(raw.Raw, &byAPI) != nil {
		return true
	}
	for _, value := range byAPI {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || len(list) > 0 {
			return true
		}
	}
	return false
}

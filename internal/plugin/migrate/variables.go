// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
)

// The variables of OpenTelemetry with the address of the collector, and the usual port of its gRPC.
const (
	otelPrefix   = "OTEL_"
	otelEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otelGRPCPort = "4317"
)

// moveVariables returns the object with fields in place of the variables of a proxy and of OpenTelemetry, as far as the
// server then reads the same configuration. It describes what was moved, and why variables stay.
func moveVariables(ctx context.Context, cluster *offline.Cluster, d *manifest.Document,
	object map[string]any) (result map[string]any, moved []string, kept []keptVariable) {
	dryRun := func(object map[string]any) *offline.Resource {
		return cluster.DryRun(ctx, &manifest.Document{File: d.File, Line: d.Line, Object: object})
	}
	for _, convert := range []func(*rewriting) string{(*rewriting).proxy, (*rewriting).telemetry} {
		r := &rewriting{object: runtime.DeepCopyJSON(object), used: map[string]bool{}}
		r.env, _, _ = unstructured.NestedSlice(object, envPath...)
		field := convert(r)
		kept = append(kept, r.kept...)
		if len(r.used) == 0 {
			continue
		}
		r.setVariables(slices.DeleteFunc(slices.Clone(r.env), func(item any) bool {
			variable, _ := item.(map[string]any)
			name, _ := variable["name"].(string)
			return r.used[name]
		}))
		names := slices.Sorted(maps.Keys(r.used))
		list := strings.Join(names, ", ")
		if why := unlike(dryRun(object), dryRun(r.object)); why != "" {
			kept = append(kept, keptVariable{names, list + ": " + why})
			continue
		}
		object, moved = r.object, append(moved, list+" became "+field)
	}
	return object, moved, kept
}

// unlike returns why a resource is not equivalent to the one before, or "".
func unlike(before, after *offline.Resource) string {
	for _, p := range after.Problems.Errors() {
		return p.String()
	}
	p, err := compareEffective(before, after, nil)
	switch {
	case err != nil:
		return err.Error()
	case len(p.different) > 0:
		return "the configuration would differ: " + strings.Join(p.different, "; ")
	}
	return ""
}

// movable reports whether a variable is a literal value that nothing else refers to. Otherwise, it records why the
// variable stays.
func (r *rewriting) movable(name string) bool {
	switch value := r.plain(name); {
	case !r.hasVariable(name):
		return false
	case value == "" && r.variable(name) == nil:
		r.explain(name, "is empty")
	case value == "":
		r.explain(name, "its value is not in the spec")
	case strings.Contains(value, "$("):
		r.explain(name, "refers to another variable")
	case r.isReferenced(name):
		r.explain(name, "another variable refers to it")
	case refersTo(r.object["spec"], name):
		r.explain(name, "the spec refers to it")
	default:
		return true
	}
	return false
}

// proxy moves the variables of a proxy, in both spellings, and returns their field.
func (r *rewriting) proxy() string {
	const field = "spec.networking.proxy"
	path := strings.Split(field, ".")
	if _, exists, _ := unstructured.NestedFieldNoCopy(r.object, path...); exists {
		return field
	}
	for _, v := range []struct{ name, field string }{
		{"HTTP_PROXY", "httpProxy"}, {"HTTPS_PROXY", "httpsProxy"}, {"NO_PROXY", "noProxy"},
	} {
		var values []string
		complete := true
		for _, name := range []string{v.name, strings.ToLower(v.name)} {
			if r.movable(name) {
				values = append(values, r.plain(name))
			} else if r.hasVariable(name) {
				complete = false
			}
		}
		switch {
		case len(values) == 0 || !complete:
			continue
		case len(values) == 2 && values[0] != values[1]:
			r.explain(v.name, "differs from "+strings.ToLower(v.name))
			continue
		case v.field == "noProxy" && len(r.used) == 0:
			r.explain(v.name, "the variables of the proxy stay")
			continue
		}
		u, err := url.Parse(values[0])
		if v.field != "noProxy" && (err != nil || u.User != nil) {
			r.explain(v.name, "has user information: store it in a Secret, and read the variable from it")
			continue
		}
		_ = unstructured.SetNestedField(r.object, values[0], append(slices.Clone(path), v.field)...)
		for _, name := range []string{v.name, strings.ToLower(v.name)} {
			if r.hasVariable(name) {
				r.used[name] = true
			}
		}
	}
	return field
}

// telemetry moves the variables of OpenTelemetry, if the address of the collector is one of them, and returns their
// field.
func (r *rewriting) telemetry() string {
	const field = "spec.providers.telemetry"
	path := strings.Split(field, ".")
	if _, exists, _ := unstructured.NestedFieldNoCopy(r.object, path...); exists || !r.movable(otelEndpoint) {
		return field
	}
	endpoint := r.plain(otelEndpoint)
	if u, err := url.Parse(endpoint); err == nil && u.Port() == otelGRPCPort {
		r.explain(otelEndpoint, "is an address for gRPC: spec.providers.telemetry takes the collector's port for HTTP, "+
			"usually 4318")
		return field
	}
	exporter := map[string]any{"provider": "otel", "endpoint": endpoint}
	r.used[otelEndpoint] = true
	settings := map[string]any{}
	for _, item := range r.env {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		if strings.HasPrefix(name, otelPrefix) && name != otelEndpoint && r.movable(name) {
			settings[name] = r.plain(name)
			r.used[name] = true
		}
	}
	if len(settings) > 0 {
		exporter["settings"] = settings
	}
	_ = unstructured.SetNestedField(r.object, exporter, path...)
	return field
}

// hasVariable reports whether the object sets a variable, also to nothing.
func (r *rewriting) hasVariable(name string) bool {
	return slices.ContainsFunc(r.env, func(item any) bool {
		variable, _ := item.(map[string]any)
		return variable["name"] == name
	})
}

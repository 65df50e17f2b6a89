// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

// leaves finds every field of the spec by reflection, so that a new one cannot be forgotten: by path, a function that sets
// this field alone. An empty struct is a leaf of its own ("spec.workload.storage{}").
func leaves(t *testing.T) map[string]func(*v1alpha2.LlamaStackDistributionSpec) {
	t.Helper()
	found := map[string]func(*v1alpha2.LlamaStackDistributionSpec){}
	walk(t, reflect.TypeFor[v1alpha2.LlamaStackDistributionSpec](), "spec", nil, found)
	if len(found) < 40 {
		t.Fatalf("only %d fields found", len(found))
	}
	return found
}

func walk(t *testing.T, typ reflect.Type, path string, index []int, found map[string]func(*v1alpha2.LlamaStackDistributionSpec)) {
	t.Helper()
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fieldPath, fieldIndex := path+"."+name, append(slices.Clone(index), i)
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if value, ok := example(fieldPath, inner); ok {
			found[fieldPath] = func(spec *v1alpha2.LlamaStackDistributionSpec) { setLeaf(spec, fieldIndex, value) }
			continue
		}
		if inner.Kind() != reflect.Struct || !strings.Contains(inner.PkgPath(), "v1alpha2") {
			t.Fatalf("%s: no example of type %s: write one", fieldPath, inner)
		}
		found[fieldPath+"{}"] = func(spec *v1alpha2.LlamaStackDistributionSpec) { setLeaf(spec, fieldIndex, reflect.Zero(inner)) }
		walk(t, inner, fieldPath, fieldIndex, found)
	}
}

// example returns a value that means something to a field.
func example(path string, typ reflect.Type) (reflect.Value, bool) {
	openJSON := map[string]string{
		"spec.networking.expose":     `true`,
		"spec.providers.safety":      `{"provider":"llama-guard"}`,
		"spec.providers.vectorIo":    `{"provider":"qdrant","endpoint":"http://x:6333"}`,
		"spec.providers.toolRuntime": `{"provider":"wolfram-alpha"}`,
		"spec.providers.telemetry":   `{"provider":"opentelemetry","endpoint":"http://x:4318"}`,
		"spec.externalProviders":     `{"inference":[{"providerId":"x","image":"registry.example/x:1"}]}`,
	}
	switch typ {
	case reflect.TypeFor[apiextensionsv1.JSON]():
		text, ok := openJSON[path]
		if !ok {
			text = `{"provider":"vllm","endpoint":"http://x:8000"}`
		}
		return reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(text)}), true
	case reflect.TypeFor[[]apiextensionsv1.JSON]():
		return reflect.ValueOf([]apiextensionsv1.JSON{{Raw: []byte(`{"name":"x","provider":"vllm"}`)}}), true
	case reflect.TypeFor[corev1.ResourceRequirements]():
		return reflect.ValueOf(corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}}), true
	case reflect.TypeFor[resource.Quantity]():
		return reflect.ValueOf(resource.MustParse("3Gi")), true
	case reflect.TypeFor[intstr.IntOrString]():
		return reflect.ValueOf(intstr.FromInt32(1)), true
	}
	switch typ.Kind() { //nolint:exhaustive // the kinds that the spec has
	case reflect.String:
		return reflect.ValueOf("x").Convert(typ), true
	case reflect.Bool:
		return reflect.ValueOf(true), true
	case reflect.Int32:
		return reflect.ValueOf(int32(5000)), true
	case reflect.Slice:
		list := reflect.MakeSlice(typ, 1, 1)
		if typ.Elem().Kind() == reflect.String {
			list.Index(0).SetString("x")
		}
		return list, true
	}
	return reflect.Value{}, false
}

func setLeaf(spec *v1alpha2.LlamaStackDistributionSpec, index []int, value reflect.Value) {
	v := reflect.ValueOf(spec).Elem()
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(value)
		value = p
	}
	v.Set(value)
}

// built are the fields that this operator builds. Every other one fails by name.
var built = []string{
	"spec.distribution.name", "spec.distribution.image",
	"spec.providers.inference", "spec.providers.safety", "spec.providers.vectorIo", "spec.providers.toolRuntime",
	"spec.providers.telemetry", "spec.resources.models",
	"spec.networking.port", "spec.networking.tls.caBundle{}", "spec.networking.tls.caBundle.configMapName",
	"spec.storage.kv{}", "spec.storage.kv.type", "spec.storage.kv.endpoint", "spec.storage.kv.password{}", "spec.storage.kv.password.name",
	"spec.storage.kv.password.key", "spec.storage.kv.password.secretKeyRef{}", "spec.storage.kv.password.secretKeyRef.name",
	"spec.storage.kv.password.secretKeyRef.key",
	"spec.storage.sql{}", "spec.storage.sql.type", "spec.storage.sql.connectionString{}", "spec.storage.sql.connectionString.name",
	"spec.storage.sql.connectionString.key", "spec.storage.sql.connectionString.secretKeyRef{}",
	"spec.storage.sql.connectionString.secretKeyRef.name", "spec.storage.sql.connectionString.secretKeyRef.key",
	"spec.workload.replicas", "spec.workload.resources",
	"spec.workload.autoscaling.minReplicas", "spec.workload.autoscaling.maxReplicas",
	"spec.workload.autoscaling.targetCPUUtilizationPercentage", "spec.workload.autoscaling.targetMemoryUtilizationPercentage",
	"spec.workload.storage{}", "spec.workload.storage.size", "spec.workload.storage.mountPath",
	"spec.workload.podDisruptionBudget{}", "spec.workload.podDisruptionBudget.minAvailable", "spec.workload.podDisruptionBudget.maxUnavailable",
	"spec.workload.topologySpreadConstraints",
	"spec.workload.overrides.serviceAccountName", "spec.workload.overrides.env", "spec.workload.overrides.command",
	"spec.workload.overrides.args", "spec.workload.overrides.volumes", "spec.workload.overrides.volumeMounts",
	"spec.networking.expose", "spec.networking.allowedFrom.namespaces", "spec.networking.allowedFrom.labels",
	"spec.overrideConfig.configMapName",
}

// meaningful are the structs whose mere presence means something (R31); the presence of any other is as its absence.
// So does that of everything within them.
var meaningful = []string{
	"spec.storage.kv", "spec.storage.sql", "spec.workload.storage", "spec.workload.podDisruptionBudget", "spec.networking.tls.caBundle",
}

// isAbsent tells whether a path is that of an empty struct that means nothing.
func isAbsent(path string) bool {
	empty, isStruct := strings.CutSuffix(path, "{}")
	return isStruct && !slices.ContainsFunc(meaningful, func(m string) bool { return empty == m || strings.HasPrefix(empty, m+".") })
}

// onlyTold are settings that must be told of, though nothing needs to fail (R39).
var onlyTold = []string{"spec.networking.tls.secretName"}

// Proves: R49, L-10, R31 (a field that is admitted is built, or fails by name).
func TestNoFieldIsIgnored(t *testing.T) {
	for path, set := range leaves(t) {
		t.Run(path, func(t *testing.T) {
			in := inputs(t, "distribution-only")
			set(&in.CR.Spec)
			d, faults := Build(in)
			var unsupported fault.List
			for _, f := range faults {
				if f.Reason == v1alpha2.ReasonUnsupported {
					unsupported = append(unsupported, f)
				}
			}
			switch {
			case slices.Contains(built, path) || isAbsent(path):
				if len(unsupported) > 0 {
					t.Errorf("is built, or means nothing, and fails: %s", faults.Message())
				}
			case slices.Contains(onlyTold, path):
				if !warned(d, path) && !names(faults, path) {
					t.Error("is silently ignored: a warning must name it")
				}
			default:
				if !names(unsupported, path) {
					t.Errorf("is neither built nor refused by name: %s", faults.Message())
				}
				if unsupported.Has(fault.Missing) || unsupported.Has(fault.FailedToAsk) || len(unsupported.For(v1alpha2.ConditionConfigGenerated)) == 0 {
					t.Errorf("faults %+v: want class Wrong and condition ConfigGenerated", unsupported)
				}
			}
		})
	}
}

// names tells whether a fault names the field, or a struct around it.
func names(faults fault.List, path string) bool {
	return slices.ContainsFunc(faults, func(f *fault.Fault) bool { return within(path, f.Message) })
}

func warned(d *Desired, path string) bool {
	for _, w := range d.Warnings {
		if within(path, w.String()) {
			return true
		}
	}
	return false
}

func within(path, message string) bool {
	named, _, _ := strings.Cut(message, ":")
	path = strings.TrimSuffix(path, "{}")
	return strings.Count(named, ".") > 0 && (path == named || strings.HasPrefix(path, named+"."))
}

// Proves: R48, FR-026 (any edit of the spec releases what an upgrade holds).
func TestInputHashCoversTheSpec(t *testing.T) {
	seen := map[string]string{}
	found := leaves(t)
	for _, path := range slices.Sorted(maps.Keys(found)) {
		in := inputs(t, "distribution-only")
		in.CR.Spec = v1alpha2.LlamaStackDistributionSpec{}
		found[path](&in.CR.Spec)
		hash := inputHash(in)
		if other, ok := seen[hash]; ok && !strings.HasSuffix(path, "{}") && !strings.HasSuffix(other, "{}") {
			t.Errorf("%s and %s have the same hash", path, other)
		}
		seen[hash] = path
	}
}

// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"encoding/json"
	"fmt"
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
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
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
		"spec.externalProviders":     `{"inference":[{"providerId":"x","image":"registry.example/x:1"}]}`,
		"spec.providers.safety":      `{"id":"x","provider":"code-scanner"}`,
		"spec.providers.vectorIo":    `{"provider":"qdrant","endpoint":"http://x:6333"}`,
		"spec.providers.toolRuntime": `{"provider":"wolfram-alpha"}`,
		"spec.providers.telemetry":   `{"provider":"opentelemetry","endpoint":"http://x:4318"}`,
		"spec.auth.settings":         `{"endpoint":"http://x"}`,
		"spec.auth.secretRefs":       `{"endpoint":{"name":"x","key":"y"}}`,
		"spec.auth.accessPolicy":     `{"permit":{"actions":"read"}}`,
		"spec.auth.routePolicy":      `{"permit":{"paths":"*"}}`,
		"spec.auth.tenancy":          `{"mode":"single","default_tenant_id":"x"}`,
		"spec.resources.models":      `{"name":"x","provider":"openai"}`,
		"spec.resources.tools":       `{"name":"mcp::x","endpoint":"http://x:8000/mcp"}`,
		"spec.resources.shields":     `"code-scanner"`,
	}
	switch typ {
	case reflect.TypeFor[apiextensionsv1.JSON]():
		text, ok := openJSON[path]
		if !ok {
			text = `{"provider":"vllm","endpoint":"http://x:8000"}`
		}
		return reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(text)}), true
	case reflect.TypeFor[[]apiextensionsv1.JSON]():
		return reflect.ValueOf([]apiextensionsv1.JSON{{Raw: []byte(openJSON[path])}}), true
	case reflect.TypeFor[corev1.ResourceRequirements]():
		return reflect.ValueOf(corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3")}}), true
	case reflect.TypeFor[map[string]string]():
		return reflect.ValueOf(map[string]string{"example.com/x": "y"}), true
	case reflect.TypeFor[corev1.Affinity]():
		return reflect.ValueOf(corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}), true
	case reflect.TypeFor[[]corev1.Toleration]():
		return reflect.ValueOf([]corev1.Toleration{{Operator: corev1.TolerationOpExists}}), true
	case reflect.TypeFor[[]corev1.PodResourceClaim]():
		return reflect.ValueOf([]corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}), true
	case reflect.TypeFor[[]corev1.EnvFromSource]():
		from := corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}
		return reflect.ValueOf([]corev1.EnvFromSource{from}), true
	case reflect.TypeFor[[]corev1.LocalObjectReference]():
		return reflect.ValueOf([]corev1.LocalObjectReference{{Name: "x"}}), true
	case reflect.TypeFor[resource.Quantity]():
		return reflect.ValueOf(resource.MustParse("3Gi")), true
	case reflect.TypeFor[intstr.IntOrString]():
		return reflect.ValueOf(intstr.FromInt32(1)), true
	case reflect.TypeFor[[]corev1.EnvVar]():
		return reflect.ValueOf([]corev1.EnvVar{{Name: "X", Value: "x"}}), true
	case reflect.TypeFor[[]corev1.Volume]():
		return reflect.ValueOf([]corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}), true
	case reflect.TypeFor[[]corev1.VolumeMount]():
		return reflect.ValueOf([]corev1.VolumeMount{{Name: "lls-storage", MountPath: "/x"}}), true
	case reflect.TypeFor[[]corev1.TopologySpreadConstraint]():
		return reflect.ValueOf([]corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "x", WhenUnsatisfiable: corev1.DoNotSchedule}}), true
	}
	if path == "spec.workload.storage.mountPath" {
		return reflect.ValueOf("/x"), true
	}
	switch typ.Kind() { //nolint:exhaustive // the kinds that the spec has
	case reflect.String:
		text := map[string]string{"spec.auth.provider": "kubernetes", "spec.storage.kv.type": "redis", "spec.storage.sql.type": "postgres", "spec.storage.kv.endpoint": "x:6379"}[path]
		return reflect.ValueOf(cmp.Or(text, "x")).Convert(typ), true
	case reflect.Bool:
		return reflect.ValueOf(true), true
	case reflect.Int64:
		return reflect.ValueOf(int64(60)), true
	case reflect.Int32:
		return reflect.ValueOf(int32(5000)), true
	case reflect.Slice:
		list := reflect.MakeSlice(typ, 1, 1)
		if typ.Elem().Kind() == reflect.String {
			text := "x"
			if path == "spec.disabled" {
				text = "eval"
			}
			list.Index(0).SetString(text)
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

// unbuilt are the fields that this operator does not build yet: they fail by name, with everything within them.
var unbuilt = []string{
	"spec.externalProviders",
}

// changesNothing are the fields that change neither the configuration nor an object when they are set alone, with the reason.
var changesNothing = map[string]string{
	"spec.distribution.name":  "what it resolves to is an input of Build: package settings has the test",
	"spec.distribution.image": "as above",

	"spec.storage.kv{}":  "means SQLite, which the base has: TestGolden has cases with other bases",
	"spec.storage.sql{}": "as above",
}

// incomplete are the structs that fail by name when they are empty.
var incomplete = []string{
	"spec.storage.kv.password{}", "spec.storage.kv.password.secretKeyRef{}",
	"spec.storage.kv.connectionString{}", "spec.storage.kv.connectionString.secretKeyRef{}",
	"spec.storage.sql.connectionString{}", "spec.storage.sql.connectionString.secretKeyRef{}", "spec.networking.tls.caBundle{}",
}

// surroundings are what fields need beside them, by the beginning of their paths; the longest counts.
var surroundings = map[string]func(*v1alpha2.LlamaStackDistributionSpec){
	"spec.workload.autoscaling.minReplicas":                       withAutoscaling,
	"spec.workload.autoscaling.targetCPUUtilizationPercentage":    withAutoscaling,
	"spec.workload.autoscaling.targetMemoryUtilizationPercentage": withAutoscaling,
	"spec.networking.tls.enabled": func(s *v1alpha2.LlamaStackDistributionSpec) {
		s.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{SecretName: new("llama-tls")}}
	},
	"spec.auth.settings":       withAuth("custom"),
	"spec.auth.secretRefs":     withAuth("custom"),
	"spec.auth.accessPolicy":   withAuth("kubernetes"),
	"spec.auth.routePolicy":    withAuth("kubernetes"),
	"spec.storage.kv.type":     func(s *v1alpha2.LlamaStackDistributionSpec) { kvStorage(s).Endpoint = new("redis:6379") },
	"spec.storage.kv.endpoint": func(s *v1alpha2.LlamaStackDistributionSpec) { kvStorage(s).Type = new(v1alpha2.KVStorageRedis) },
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

// surround returns what a field needs beside it.
func surround(path string) func(*v1alpha2.LlamaStackDistributionSpec) {
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

// onlyTold are settings that must be reported, though nothing needs to fail (R39), and what the release line of the inputs lacks (R25).
var onlyTold = []string{"spec.networking.tls.secretName", "spec.auth.tenancy"}

// meaningful are the structs whose mere presence means something (R31); the presence of any other is as its absence.
// So does that of everything within them.
var meaningful = []string{
	"spec.storage.kv", "spec.storage.sql", "spec.workload.storage", "spec.workload.podDisruptionBudget", "spec.networking.tls.caBundle",
}

// isAbsent reports whether a path is that of an empty struct that means nothing.
func isAbsent(path string) bool {
	empty, isStruct := strings.CutSuffix(path, "{}")
	return isStruct && !slices.ContainsFunc(meaningful, func(m string) bool { return empty == m || strings.HasPrefix(empty, m+".") })
}

func isUnbuilt(path string) bool {
	path = strings.TrimSuffix(path, "{}")
	return slices.ContainsFunc(unbuilt, func(u string) bool { return path == u || strings.HasPrefix(path, u+".") })
}

// Every field changes the configuration or an object when it is set, or fails by name, or is reported, or stands above with the reason
// why not. What R31 takes for absent changes nothing.
//
// Proves: R49, L-10, R31.
func TestNoFieldIsIgnored(t *testing.T) {
	for path, setAlone := range leaves(t) {
		t.Run(path, func(t *testing.T) {
			around := surround(path)
			set := func(spec *v1alpha2.LlamaStackDistributionSpec) { around(spec); setAlone(spec) }
			before := output(t, around)
			in := found(t, set)
			d, faults := try(t.Context(), in)
			_, excused := changesNothing[path]
			switch {
			case isAbsent(path) || excused:
				if len(faults) > 0 || output(t, set) != before {
					t.Errorf("means nothing, and fails or changes something: %s", faults.Message())
				}
			case isUnbuilt(path):
				checkRefused(t, path, faults)
			case slices.Contains(incomplete, path):
				if !strings.Contains(faults.Message(), strings.TrimSuffix(path, "{}")) {
					t.Errorf("is empty, and that is not told: %s", faults.Message())
				}
			case slices.Contains(onlyTold, path):
				if !warned(d, path) && !names(faults, path) {
					t.Error("is silently ignored: a warning must name it")
				}
			case len(faults) > 0:
				t.Errorf("is built, and fails: %s", faults.Message())
			case output(t, set) == before:
				t.Error("is silently ignored: neither the configuration nor an object changes")
			}
		})
	}
}

func checkRefused(t *testing.T, path string, faults problem.List) {
	t.Helper()
	var unsupported problem.List
	for _, f := range faults {
		if f.Reason == problem.UnsupportedByOperator {
			unsupported = append(unsupported, f)
		}
	}
	if !names(unsupported, path) {
		t.Errorf("is neither built nor refused by name: %s", faults.Message())
	}
	if unsupported.Has(problem.WaitingForDependency) || unsupported.Has(problem.Transient) || len(unsupported.For(v1alpha2.ConditionConfigGenerated)) == 0 {
		t.Errorf("faults %+v: want class Wrong and condition ConfigGenerated", unsupported)
	}
}

// output is what Build makes of a spec, without the hash of the spec itself. There is always a configuration: that a field makes one
// necessary is not enough.
func output(t *testing.T, set func(*v1alpha2.LlamaStackDistributionSpec)) string {
	t.Helper()
	in := found(t, set)
	if in.CR.Spec.Providers == nil {
		in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{}
	}
	if in.CR.Spec.Providers.Inference == nil {
		in.CR.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte(`{"provider":"openai"}`)}
	}
	d, _ := try(t.Context(), in)
	for _, o := range d.Objects {
		delete(o.GetAnnotations(), objects.AnnotationInputHash)
	}
	text, err := json.Marshal(d.Objects)
	if err != nil {
		t.Fatal(err)
	}
	uses, _ := config.SecretUses(in.Spec)
	return fmt.Sprintf("%s %v", text, uses)
}

// found are inputs for a spec where all that it refers to is there.
func found(t *testing.T, set func(*v1alpha2.LlamaStackDistributionSpec)) *Inputs {
	t.Helper()
	in := inputs(t, "distribution-only")
	set(&in.CR.Spec)
	reread(in)
	uses, _ := config.SecretUses(in.Spec)
	for _, use := range uses {
		value := canary
		if strings.HasSuffix(use.Path, ".connectionString") {
			value = "postgresql://user:" + canary + "@db.example/stack"
		}
		in.Secrets = append(in.Secrets, SecretFact{Use: use, Value: secret.New([]byte(value))})
	}
	if _, ok := in.OverrideRef(); ok {
		findOverride(t, in, ownConfig)
	}
	if in.CABundle = in.NamedCABundle(); in.CABundle != nil && in.CABundle.Name != "" {
		in.CABundle.Data = map[string]string{"ca.crt": certificate}
	}
	if in.Certificate = CertificateOf(in.CR); in.Certificate != nil {
		in.Certificate.State = Unknown
	}
	return in
}

// names reports whether a fault names the field, or a struct around it.
func names(faults problem.List, path string) bool {
	return slices.ContainsFunc(faults, func(f problem.Problem) bool { return within(path, f.String()) })
}

func warned(d *made, path string) bool {
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
		hash := hashOf(in)
		if other, ok := seen[hash]; ok && !strings.HasSuffix(path, "{}") && !strings.HasSuffix(other, "{}") {
			t.Errorf("%s and %s have the same hash", path, other)
		}
		seen[hash] = path
	}
}

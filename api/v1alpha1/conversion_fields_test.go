// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// leaves lists the fields below a type that are not structs of the API itself, with their types.
func leaves(typ reflect.Type, path string, into map[string]string) {
	suffix := ""
	for typ.Kind() == reflect.Pointer || (typ.Kind() == reflect.Slice && typ != reflect.TypeFor[apiextensionsv1.JSON]()) {
		if typ.Kind() == reflect.Slice {
			suffix += "[]"
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || !strings.HasPrefix(typ.PkgPath(), "github.com/llamastack/") {
		// A string type of the API is a string.
		name := typ.String()
		if typ.Kind() == reflect.String {
			name = "string"
		}
		into[path+suffix] = name
		return
	}
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		leaves(field.Type, path+suffix+"."+name, into)
	}
}

func leavesOf(root reflect.Type) map[string]string {
	found := map[string]string{}
	leaves(memberType(root, "spec"), "spec", found)
	leaves(memberType(root, "status"), "status", found)
	return found
}

// within returns the leaves at or below a path, by what follows the path.
func within(all map[string]string, path string) map[string]string {
	found := map[string]string{}
	for leaf, typ := range all {
		if rest, ok := strings.CutPrefix(leaf, path); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			found[rest] = typ
		}
	}
	return found
}

// Proves: FR-083, MIG-MAP, R22 (no field of either version is forgotten, and what travels as it is has the same type there)
func TestEveryFieldIsInTheTable(t *testing.T) {
	t.Parallel()

	ofSpoke, ofHub := leavesOf(reflect.TypeFor[LlamaStackDistribution]()), leavesOf(reflect.TypeFor[v1alpha2.LlamaStackDistribution]())
	missingSpoke, missingHub := maps.Clone(ofSpoke), maps.Clone(ofHub)
	for _, mapping := range fieldMappings {
		inSpoke, inHub := within(ofSpoke, mapping.spoke), within(ofHub, mapping.hub)
		for rest := range inSpoke {
			delete(missingSpoke, mapping.spoke+rest)
		}
		for rest := range inHub {
			delete(missingHub, mapping.hub+rest)
		}
		if mapping.spoke != "" && len(inSpoke) == 0 {
			t.Errorf("the table names %s, which v1alpha1 does not have", mapping.spoke)
		}
		if mapping.hub != "" && len(inHub) == 0 {
			t.Errorf("the table names %s, which v1alpha2 does not have", mapping.hub)
		}
		if mapping.spoke != "" && mapping.hub != "" && mapping.toSpoke == nil {
			if diff := gocmp.Diff(inSpoke, inHub); diff != "" {
				t.Errorf("%s travels to %s as it is, but their types differ (- v1alpha1, + v1alpha2):\n%s", mapping.spoke, mapping.hub, diff)
			}
		}
	}
	if len(missingSpoke) > 0 {
		t.Errorf("the table does not say what becomes of these fields of v1alpha1: %v", slices.Sorted(maps.Keys(missingSpoke)))
	}
	if len(missingHub) > 0 {
		t.Errorf("the table does not say what becomes of these fields of v1alpha2: %v", slices.Sorted(maps.Keys(missingHub)))
	}
	for _, s := range []side{spoke, hub} {
		for _, u := range s.units {
			if u.goType == nil {
				t.Errorf("%s has no field %s", s.version, u.name)
			}
		}
	}
}

// Proves: R4, EC-3 (what counts as exposed is decided once)
func TestExposedIsWhatTheParserSays(t *testing.T) {
	t.Parallel()

	for seed := range uint64(500) {
		value := hubShapes["spec.networking.expose"](newGenerator(seed))
		if seed%2 == 0 {
			value = newGenerator(seed).openJSON(0)
		}
		parsed, errs := parse.ExposeField(&apiextensionsv1.JSON{Raw: encode(value)})
		if len(errs) == 0 && parsed.Enabled != isExposed(value) {
			t.Errorf("%s: exposed %t, ParseExpose says %t", encode(value), isExposed(value), parsed.Enabled)
		}
	}
}

// Proves: FR-083, MIG-MAP: the tables of the migration guide, row by row, in both directions.
func TestMappingTablesOfTheMigrationGuide(t *testing.T) {
	t.Parallel()

	const absent = ""
	for _, row := range []struct{ spoke, hub, value string }{
		// Top level.
		{"spec.replicas", "spec.workload.replicas", "3"},
		{"spec.server.distribution", "spec.distribution", "{name: starter}"},
		{"spec.network", "spec.networking", "{allowedFrom: {namespaces: [a]}}"},
		// Distribution.
		{"spec.server.distribution.name", "spec.distribution.name", "starter"},
		{"spec.server.distribution.image", "spec.distribution.image", "quay.io/x/y:1"},
		// Container and server settings.
		{"spec.server.containerSpec.port", "spec.networking.port", "9000"},
		{"spec.server.containerSpec.env", "spec.workload.overrides.env", "[{name: A, value: b}]"},
		{"spec.server.containerSpec.name", absent, "main"},
		{"spec.server.containerSpec.resources", "spec.workload.resources", "{limits: {cpu: 1000m}}"},
		{"spec.server.containerSpec.command", "spec.workload.overrides.command", "[sh]"},
		{"spec.server.containerSpec.args", "spec.workload.overrides.args", "[-v]"},
		{"spec.server.workers", "spec.workload.workers", "4"},
		// Storage.
		{"spec.server.storage.size", "spec.workload.storage.size", "20Gi"},
		{"spec.server.storage.mountPath", "spec.workload.storage.mountPath", "/data"},
		// Pod overrides.
		{"spec.server.podOverrides.serviceAccountName", "spec.workload.overrides.serviceAccountName", "sa"},
		{"spec.server.podOverrides.volumes", "spec.workload.overrides.volumes", "[{name: v, emptyDir: {}}]"},
		{"spec.server.podOverrides.volumeMounts", "spec.workload.overrides.volumeMounts", "[{name: v, mountPath: /v}]"},
		{"spec.server.podOverrides.terminationGracePeriodSeconds", "spec.workload.terminationGracePeriodSeconds", "120"},
		// Scaling.
		{"spec.server.autoscaling", "spec.workload.autoscaling", "{minReplicas: 1, maxReplicas: 3, targetCPUUtilizationPercentage: 75}"},
		{"spec.server.podDisruptionBudget", "spec.workload.podDisruptionBudget", "{minAvailable: 50%}"},
		{"spec.server.topologySpreadConstraints", "spec.workload.topologySpreadConstraints", "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"},
		// Networking.
		{"spec.network.exposeRoute", "spec.networking.expose", "true"},
		{"spec.network.allowedFrom", "spec.networking.allowedFrom", "{namespaces: [a], labels: [b]}"},
		{"spec.server.tlsConfig.caBundle.configMapName", "spec.networking.tls.caBundle.configMapName", "ca"},
		// User configuration.
		{"spec.server.userConfig.configMapName", "spec.overrideConfig.configMapName", "mine"},
		{"spec.server.userConfig.configMapNamespace", absent, "elsewhere"},
		// New in v1alpha2.
		{absent, "spec.providers", "{inference: [{id: a, provider: vllm}]}"},
		{absent, "spec.resources", "{models: [m, {name: n}]}"},
		{absent, "spec.storage", "{kv: {type: redis, endpoint: 'redis:6379'}}"},
		{absent, "spec.disabled", "[eval]"},
		{absent, "spec.auth", "{provider: custom, settings: {endpoint: a}, accessPolicy: [{permit: {actions: read}}]}"},
		{absent, "spec.externalProviders", "{inference: [{providerId: a, image: b}]}"},
		{"status.resolvedDistribution", "status.resolvedDistribution", "{image: i, configSource: embedded}"},
		{"status.configGeneration", "status.configGeneration", "{configMapName: c, providerCount: 2, resourceCount: 1}"},
	} {
		for _, direction := range []struct {
			from, to         string
			fromPath, toPath string
			forth, back      func(map[string]any) map[string]any
		}{
			{"v1alpha1", "v1alpha2", row.spoke, row.hub, ToV1alpha2, FromV1alpha2},
			{"v1alpha2", "v1alpha1", row.hub, row.spoke, FromV1alpha2, ToV1alpha2},
		} {
			if direction.fromPath == absent {
				continue
			}
			want := parseYAML(t, row.value)
			original := object(t, `{apiVersion: llamastack.io/`+direction.from+`, metadata: {name: x}}`)
			store(original, strings.Split(direction.fromPath, "."), want)
			converted := direction.forth(original)
			if direction.toPath != absent {
				got, _ := lookup(converted, strings.Split(direction.toPath, "."))
				dropDefaults(got)
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("%s of %s as %s of %s (- want, + got):\n%s", direction.fromPath, direction.from, direction.toPath, direction.to, diff)
				}
			}
			got, _ := lookup(direction.back(converted), strings.Split(direction.fromPath, "."))
			dropDefaults(got)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s of %s after the way there and back (- want, + got):\n%s", direction.fromPath, direction.from, diff)
			}
		}
	}
}

// dropDefaults takes away what the schemas fill in below spec.network and spec.networking.
func dropDefaults(value any) {
	if section, ok := value.(map[string]any); ok {
		for name, dflt := range map[string]any{"port": int64(8321), "exposeRoute": false} {
			if section[name] == dflt {
				delete(section, name)
			}
		}
	}
}

// Proves: FR-080 (what a caller needs that has objects of either version)
func TestConvertKnowsBothVersions(t *testing.T) {
	t.Parallel()

	const v1, v2 = "llamastack.io/v1alpha1", "llamastack.io/v1alpha2"
	for _, test := range []struct{ from, to string }{{v1, v2}, {v2, v1}, {v1, v1}, {v2, v2}} {
		original := object(t, `{apiVersion: `+test.from+`, kind: LlamaStackDistribution, metadata: {name: x}, spec: {}}`)
		converted, err := Convert(original, test.to)
		if err != nil {
			t.Errorf("%s to %s: %v", test.from, test.to, err)
			continue
		}
		if converted["apiVersion"] != test.to || converted["kind"] != "LlamaStackDistribution" {
			t.Errorf("%s to %s is %v %v", test.from, test.to, converted["apiVersion"], converted["kind"])
		}
	}
	for _, test := range []struct{ from, to string }{{"v1", v2}, {v1, "llamastack.io/v1"}, {"", v1}, {"other.io/v1alpha1", "other.io/v1alpha1"}} {
		if _, err := Convert(map[string]any{"apiVersion": test.from}, test.to); err == nil || !strings.Contains(err.Error(), v1) {
			t.Errorf("%q to %q: error %v, want one that names the versions", test.from, test.to, err)
		}
	}
	if _, err := Convert(nil, v1); err == nil {
		t.Error("nothing was converted without an error")
	}
}

// Proves: L-26 (nothing that is not an object of the API makes conversion panic)
func TestConversionIsTotal(t *testing.T) {
	t.Parallel()

	paths := []string{"metadata", "metadata.annotations", "status"}
	for _, s := range []side{spoke, hub} {
		for _, section := range s.sections {
			paths = append(paths, section.name)
		}
		for _, u := range s.units {
			paths = append(paths, u.name)
		}
	}
	for _, path := range paths {
		for _, value := range []any{nil, "text", int64(1), 1.5, true, []any{nil}, map[string]any{"": nil}, map[string]any(nil), []any(nil)} {
			for _, there := range []func(map[string]any) map[string]any{ToV1alpha2, FromV1alpha2} {
				tree := map[string]any{}
				store(tree, strings.Split(path, "."), value)
				if converted := there(tree); converted["apiVersion"] == nil {
					t.Errorf("%s = %v has no version afterwards", path, value)
				}
			}
		}
	}
	if ToV1alpha2(nil) == nil || FromV1alpha2(map[string]any{}) == nil {
		t.Error("nothing became nothing")
	}
}

// A number is the same however its text was decoded.
func TestSameComparesNumbersByValue(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		a, b any
		want bool
	}{
		{int64(1), 1.0, true}, {1.0, int64(1), true}, {int64(1), 1.5, false}, {1.5, int64(1), false}, {1.5, 1.5, true}, {int64(1), int64(2), false},
		{int64(1), "1", false}, {[]any{int64(1)}, []any{1.0}, true}, {map[string]any{"a": 1.0}, map[string]any{"a": int64(1)}, true},
	} {
		if got := same(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: the same %t", c.a, c.b, got)
		}
	}
}

// Proves: R41 (an object of v1alpha1 no longer counts as one with any field that only v1alpha2 has).
func TestEveryFieldOfV1alpha2MovesAnObjectOn(t *testing.T) {
	t.Parallel()

	values := map[string]string{ // where an empty object is not a value
		"spec.networking.tls.enabled": "true", "spec.networking.tls.secretName": "own", "spec.disabled": "[eval]",
		"spec.workload.imagePullSecrets": "[{name: registry}]", "spec.workload.resourceClaims": "[{name: gpu}]",
		"spec.workload.overrides.envFrom": "[{configMapRef: {name: c}}]",
	}
	for _, mapping := range fieldMappings {
		if mapping.spoke != "" {
			continue
		}
		text := cmp.Or(values[mapping.hub], "{}")
		for _, name := range slices.Backward(strings.Split(mapping.hub, ".")) {
			text = "{" + name + ": " + text + "}"
		}
		obj := &v1alpha2.LlamaStackDistribution{}
		if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		obj.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1"}`}
		if v1alpha2.Legacy(obj).FromV1alpha1 {
			t.Errorf("with %s it still counts as of v1alpha1", mapping.hub)
		}
		obj.Spec = v1alpha2.LlamaStackDistributionSpec{}
		if !v1alpha2.Legacy(obj).FromV1alpha1 {
			t.Errorf("without %s it does not count as of v1alpha1", mapping.hub)
		}
	}
}

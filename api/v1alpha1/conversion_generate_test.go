// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// generator makes random objects with absent, zero, empty and set fields, also in notations that Go types normalize.
type generator struct {
	*rand.Rand
	// detail is the probability in percent that an optional field is set.
	detail int
}

func newGenerator(seed uint64) generator {
	r := rand.New(rand.NewPCG(seed, 5))
	return generator{Rand: r, detail: []int{10, 30, 60, 90}[r.IntN(4)]}
}

func (g generator) chance(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

func (g generator) spokeObject() map[string]any {
	return g.object("v1alpha1", reflect.TypeFor[LlamaStackDistribution](), spokeShapes)
}

func (g generator) hubObject() map[string]any {
	return g.object("v1alpha2", reflect.TypeFor[v1alpha2.LlamaStackDistribution](), hubShapes)
}

func (g generator) object(version string, root reflect.Type, shapes map[string]func(generator) any) map[string]any {
	object := map[string]any{
		"apiVersion": "llamastack.io/" + version,
		"kind":       "LlamaStackDistribution",
		"metadata":   g.metadata(),
		"spec":       g.value(memberType(root, "spec"), "spec", shapes, 0),
	}
	if g.chance(50) {
		object["status"] = g.value(memberType(root, "status"), "status", shapes, 0)
	}
	return object
}

func (g generator) metadata() map[string]any {
	metadata := map[string]any{"name": "my-llsd", "namespace": "default", "uid": "7a0f", "generation": g.Int64N(9)}
	if g.chance(50) {
		metadata["annotations"] = map[string]any{"example.com/note": g.text()}
	}
	if g.chance(30) {
		metadata["labels"] = map[string]any{"app": "x"}
	}
	return metadata
}

// spokeShapes and hubShapes generate values for fields whose interesting values are rare.
var (
	spokeShapes = map[string]func(generator) any{
		"spec.replicas":                       func(g generator) any { return g.Int64N(4) },
		"spec.server.containerSpec.name":      func(g generator) any { return pick[any](g, "", "llama-stack", "main") },
		"spec.server.containerSpec.port":      func(g generator) any { return pick[any](g, int64(0), int64(8321), int64(9000), int64(-1)) },
		"spec.server.autoscaling.maxReplicas": func(g generator) any { return g.Int64N(3) },
	}
	hubShapes = map[string]func(generator) any{
		"spec.workload.replicas": func(g generator) any { return g.Int64N(4) },
		"spec.networking.port":   func(g generator) any { return pick[any](g, int64(8321), int64(9000)) },
		"spec.networking.expose": func(g generator) any {
			return pick[any](g, true, false, map[string]any{}, map[string]any{"enabled": true}, map[string]any{"enabled": false, "hostname": "a.example.com"},
				map[string]any{"enabled": true, "hostname": "b.example.com"}, map[string]any{"hostname": "c.example.com"}, nil, "yes", []any{true})
		},
		"spec.storage.kv.type":  func(g generator) any { return pick[any](g, "sqlite", "redis") },
		"spec.storage.sql.type": func(g generator) any { return pick[any](g, "sqlite", "postgres") },
	}
)

func (g generator) value(typ reflect.Type, path string, shapes map[string]func(generator) any, depth int) any {
	if shape, ok := shapes[path]; ok {
		return shape(g)
	}
	switch typ {
	case reflect.TypeFor[apiextensionsv1.JSON]():
		return g.openJSON(0)
	case reflect.TypeFor[resource.Quantity]():
		return pick[any](g, "10Gi", "1024Mi", "0.5", "1000m", "1e3", int64(2), "0")
	case reflect.TypeFor[intstr.IntOrString]():
		return pick[any](g, int64(0), int64(1), int64(3000000000), "50%", "")
	case reflect.TypeFor[metav1.Time]():
		return "2025-06-01T12:00:00Z"
	}
	switch typ.Kind() { //nolint:exhaustive // the default reports every other kind
	case reflect.Pointer:
		return g.value(typ.Elem(), path, shapes, depth)
	case reflect.Struct:
		return g.structValue(typ, path, shapes, depth)
	case reflect.Slice:
		if typ.Elem().Kind() == reflect.Uint8 {
			return "Ynl0ZXM="
		}
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.value(typ.Elem(), path+"[]", shapes, depth+1))
		}
		return list
	case reflect.Map:
		object := map[string]any{}
		for i := range g.IntN(3) {
			object[fmt.Sprintf("key.%d/%s", i, g.text())] = g.value(typ.Elem(), path+"{}", shapes, depth+1)
		}
		return object
	case reflect.String:
		return g.text()
	case reflect.Bool:
		return g.chance(50)
	case reflect.Int32, reflect.Int64:
		return pick[any](g, int64(0), int64(1), int64(30), int64(-1))
	default:
		panic("the generator has no values for " + typ.String() + " at " + path)
	}
}

func (g generator) structValue(typ reflect.Type, path string, shapes map[string]func(generator) any, depth int) map[string]any {
	object := map[string]any{}
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && (field.Anonymous || strings.Contains(options, "inline")) {
			maps.Copy(object, g.structValue(field.Type, path, shapes, depth))
			continue
		}
		detail := g.detail
		if !strings.HasPrefix(typ.PkgPath(), "github.com/llamastack/") {
			detail /= 1 + depth
		}
		required := options == "" && !strings.HasPrefix(path, "status")
		if required || g.chance(detail) {
			object[name] = g.value(field.Type, path+"."+name, shapes, depth+1)
		}
	}
	return object
}

func (g generator) text() string {
	return pick(g, "", "a", "starter", "quay.io/x/y:1", `<"quoted & 'odd'">`, "größer 大", "*", "llama-stack")
}

// openJSON returns random JSON, as fields with an open schema hold.
func (g generator) openJSON(depth int) any {
	kinds := 8
	if depth > 3 {
		kinds = 6
	}
	switch g.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return g.chance(50)
	case 2:
		return g.Int64() - g.Int64()
	case 3:
		return g.NormFloat64() * 1e9
	case 4, 5:
		return g.text()
	case 6:
		list := []any{}
		for range g.IntN(3) {
			list = append(list, g.openJSON(depth+1))
		}
		return list
	default:
		object := map[string]any{}
		for range g.IntN(4) {
			object[pick(g, "id", "provider", "endpoint", "apiKey", "settings", "a.b", "")] = g.openJSON(depth + 1)
		}
		return object
	}
}

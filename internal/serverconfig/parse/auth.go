// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// parseAuth parses spec.auth; it returns nil for an empty one.
func parseAuth(spec *v1alpha2.AuthSpec) (*Auth, problem.List) {
	if spec == nil {
		return nil, nil
	}
	root := field.NewPath("spec", "auth")
	a := &Auth{Type: strings.TrimSpace(ptr.Deref(spec.Provider, ""))}
	var problems problem.List
	object := func(raw *apiextensionsv1.JSON, name string) map[string]any {
		value, found := parseMap(raw, root.Child(name))
		problems = append(problems, found...)
		return value
	}
	a.Settings, a.Tenancy = object(spec.Settings, "settings"), object(spec.Tenancy, "tenancy")
	refs := object(spec.SecretRefs, "secretRefs")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		path := root.Child("secretRefs").Key(name)
		ref, found := parseSecretRef(refs[name], path)
		problems = append(problems, found...)
		if len(found) == 0 {
			a.SecretRefs = append(a.SecretRefs, SecretField{Field: name, Ref: ref, Path: path.String()})
		}
	}
	rules := func(items []apiextensionsv1.JSON, name string) []Rule {
		var list []Rule
		for i := range items {
			path := root.Child(name).Index(i)
			fields, found := parseMap(&items[i], path)
			problems = append(problems, found...)
			if len(found) == 0 {
				list = append(list, Rule{Fields: fields, Path: path.String()})
			}
		}
		return list
	}
	a.AccessPolicy, a.RoutePolicy = rules(spec.AccessPolicy, "accessPolicy"), rules(spec.RoutePolicy, "routePolicy")
	if a.isEmpty() {
		return nil, problems
	}
	return a, problems
}

func (a *Auth) isEmpty() bool {
	return a.Type == "" && max(len(a.Settings), len(a.SecretRefs), len(a.AccessPolicy), len(a.RoutePolicy),
		len(a.Tenancy)) == 0
}

// parseMap parses open JSON that must be an object. It drops null values, as Kubernetes does.
func parseMap(raw *apiextensionsv1.JSON, path *field.Path) (map[string]any, problem.List) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}
	value, problems := decode(raw.Raw, path)
	if len(problems) > 0 || value == nil {
		return nil, problems
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, problem.List{wrongType(path, "an object", "")}
	}
	maps.DeleteFunc(object, func(_ string, v any) bool { return v == nil })
	return object, nil
}

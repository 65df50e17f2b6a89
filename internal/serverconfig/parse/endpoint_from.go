// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// EndpointKind is a kind of objects with an address.
type EndpointKind string

const (
	// KindInferenceService is KServe's model server, of serving.kserve.io/v1beta1.
	KindInferenceService EndpointKind = "InferenceService"
	// KindLLMInferenceService is KServe's group of model servers behind a gateway, of serving.kserve.io/v1alpha1.
	KindLLMInferenceService EndpointKind = "LLMInferenceService"
	// KindService is the Service of Kubernetes.
	KindService EndpointKind = "Service"
)

var endpointFields = []string{"kind", "name", "namespace", "port", "path"}

// EndpointObject identifies an object with an address.
type EndpointObject struct {
	Kind EndpointKind
	// Namespace is empty for the namespace of the custom resource.
	Namespace, Name string
}

// EndpointReference is a parsed endpointFrom.
type EndpointReference struct {
	EndpointObject
	// Port is the name or number of a Service's port, if given.
	Port string
	// URLPath is the path at a Service's address, if given.
	URLPath string
	// Path is the path of the field for messages: "spec.providers.inference[1].endpointFrom".
	Path string
}

// EndpointPath returns the path of the field with a provider's endpoint, for messages.
func (p *Provider) EndpointPath() string { return endpointPath(p.Path, p.EndpointFrom) }

// EndpointPath returns the path of the field with an MCP server's endpoint, for messages.
func (t *Tool) EndpointPath() string { return endpointPath(t.Path, t.EndpointFrom) }

func endpointPath(entry string, from *EndpointReference) string {
	if from != nil {
		return from.Path
	}
	return entry + ".endpoint"
}

// EndpointReferences returns the endpoint references of providers and tools, in spec order.
func (s *Spec) EndpointReferences() []*EndpointReference {
	var list []*EndpointReference
	for _, group := range s.Providers {
		for i := range group.Providers {
			if from := group.Providers[i].EndpointFrom; from != nil {
				list = append(list, from)
			}
		}
	}
	for i := range s.Tools {
		if from := s.Tools[i].EndpointFrom; from != nil {
			list = append(list, from)
		}
	}
	return list
}

// WithEndpoints returns a copy of the spec with the addresses of EndpointReferences as endpoints.
func (s *Spec) WithEndpoints(address func(*EndpointReference) string) *Spec {
	completed := *s
	completed.Providers = slices.Clone(s.Providers)
	for i, group := range completed.Providers {
		completed.Providers[i].Providers = slices.Clone(group.Providers)
		for j := range group.Providers {
			if p := &completed.Providers[i].Providers[j]; p.EndpointFrom != nil {
				p.Endpoint = address(p.EndpointFrom)
			}
		}
	}
	completed.Tools = slices.Clone(s.Tools)
	for i := range completed.Tools {
		if t := &completed.Tools[i]; t.EndpointFrom != nil {
			t.Endpoint = address(t.EndpointFrom)
		}
	}
	return &completed
}

// getEndpointFrom takes "endpointFrom" with one of the kinds. It conflicts with a set endpoint.
func (o *object) getEndpointFrom(endpoint string, kinds ...EndpointKind) *EndpointReference {
	v, ok := o.take("endpointFrom")
	if !ok {
		return nil
	}
	path := o.path.Child("endpointFrom")
	if endpoint != "" {
		o.report(conflicting(path, "endpoint is also set"))
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		o.report(wrongType(path, "an object with kind and name",
			"for example endpointFrom: {kind: "+string(kinds[0])+", name: my-model}"))
		return nil
	}
	from := newObject(path, m)
	ref := from.getEndpointReference(kinds)
	from.rejectUnknown(endpointFields)
	o.report(from.problems...)
	if len(from.problems) > 0 {
		return nil
	}
	return ref
}

func (o *object) getEndpointReference(kinds []EndpointKind) *EndpointReference {
	ref := &EndpointReference{
		EndpointObject: EndpointObject{
			Kind: EndpointKind(o.getRequiredString("kind", string(kinds[0]))), Namespace: o.getString("namespace"),
			Name: o.getRequiredString("name", "my-model"),
		},
		Port: o.getPort("port"), URLPath: o.getString("path"), Path: o.path.String(),
	}
	if ref.Kind != "" && !slices.Contains(kinds, ref.Kind) {
		o.report(unsupportedKind(o.path.Child("kind"), ref.Kind, kinds))
		return ref
	}
	for _, name := range []struct{ key, value string }{{"namespace", ref.Namespace}, {"name", ref.Name}} {
		if name.value != "" && len(validation.IsDNS1123Subdomain(name.value)) > 0 {
			o.report(invalid(o.path.Child(name.key), "is not a valid object name", "use lower-case letters, digits, '-' and "+
				"'.'"))
		}
	}
	for key, value := range map[string]string{"port": ref.Port, "path": ref.URLPath} {
		if value != "" && ref.Kind != KindService {
			o.report(newProblem(problem.Problem{
				Reason: problem.UnknownField, Path: o.path.Child(key).String(), Type: field.ErrorTypeForbidden,
				Detail: "is only allowed for a Service: the status of other kinds has the complete address", Fix: "remove it",
			}))
		}
	}
	if ref.URLPath != "" && (!strings.HasPrefix(ref.URLPath, "/") || strings.ContainsAny(ref.URLPath, "?#$@ ")) {
		o.report(invalid(o.path.Child("path"), "is not the path of a URL", "for example path: /v1"))
	}
	slices.SortFunc(o.problems, func(a, b problem.Problem) int { return strings.Compare(a.Path, b.Path) })
	return ref
}

func (o *object) getPort(key string) string {
	v, ok := o.take(key)
	if !ok {
		return ""
	}
	path := o.path.Child(key)
	switch v := v.(type) {
	case int64:
		if len(validation.IsValidPortNum(int(v))) == 0 {
			return strconv.FormatInt(v, 10)
		}
	case string:
		if len(validation.IsValidPortName(v)) == 0 {
			return v
		}
	}
	o.report(invalid(path, "is neither the name nor the number of a port", "for example port: 8000"))
	return ""
}

func unsupportedKind(path *field.Path, kind EndpointKind, kinds []EndpointKind) problem.Problem {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k))
	}
	p := problem.Problem{
		Reason: problem.InvalidField, Path: path.String(), Type: field.ErrorTypeNotSupported,
		Fix: "supported values: " + strings.Join(names, ", "),
	}
	if slices.Contains([]EndpointKind{KindInferenceService, KindLLMInferenceService}, kind) { // unsupported here
		p.Value = string(kind)
	} else if near, ok := problem.Nearest(string(kind), names); ok {
		p.Value, p.Fix = string(kind), fmt.Sprintf("did you mean %q?", near)
	}
	return newProblem(p)
}

// checkEndpointReferences reports a spec that refers to more than limits.EndpointReferences objects.
func (s *Spec) checkEndpointReferences() problem.List {
	objects := map[EndpointObject]bool{}
	for _, ref := range s.EndpointReferences() {
		objects[ref.EndpointObject] = true
		if len(objects) > limits.EndpointReferences {
			return problem.List{newProblem(problem.Problem{
				Reason: problem.TooLarge, Path: ref.Path, Type: field.ErrorTypeTooMany,
				Detail: fmt.Sprintf("the spec refers to more than %d objects for endpoints",
					limits.EndpointReferences),
				Fix: "set endpoint instead for some, or use several LlamaStackDistributions",
			})}
		}
	}
	return nil
}

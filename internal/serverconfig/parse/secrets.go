// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

const secretRefForms = "a secret reference, either {name, key} or {secretKeyRef: {name, key}}"

// SecretKeyRef returns a typed reference in either form, or an error at path if it is not exactly one complete form.
func SecretKeyRef(r *v1alpha2.SecretKeyRef, path *field.Path) (SecretReference, problem.List) {
	name, key := ptr.Deref(r.Name, ""), ptr.Deref(r.Key, "")
	if r.SecretKeyRef != nil {
		if name != "" || key != "" {
			return SecretReference{}, problem.List{invalid(path, "must be "+secretRefForms+", not both", "use one of the two "+
				"forms")}
		}
		path = path.Child("secretKeyRef")
		name, key = ptr.Deref(r.SecretKeyRef.Name, ""), ptr.Deref(r.SecretKeyRef.Key, "")
	}
	return completeRef(name, key, path)
}

func completeRef(name, key string, path *field.Path) (SecretReference, problem.List) {
	var problems problem.List
	if name == "" {
		problems = append(problems, missing(path.Child("name"), "", "set the name of the Secret"))
	}
	if key == "" {
		problems = append(problems, missing(path.Child("key"), "", "set the key in the Secret"))
	}
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		problems = append(problems, invalid(path.Child("name"), "is not a valid name of a Secret", "use lower-case letters, "+
			"digits, '-' and '.'"))
	}
	if key != "" && len(validation.IsConfigMapKey(key)) > 0 {
		problems = append(problems, invalid(path.Child("key"), "is not a key of a Secret", "use letters, digits, '-', '_' "+
			"and '.'"))
	}
	if len(problems) > 0 {
		return SecretReference{}, problems
	}
	return SecretReference{Name: name, Key: key}, nil
}

// parseSecretRef parses a secret reference in either form from decoded JSON.
func parseSecretRef(v any, path *field.Path) (SecretReference, problem.List) {
	m, ok := v.(map[string]any)
	if !ok {
		return SecretReference{}, problem.List{wrongType(path, secretRefForms, "put the value into a Secret, and refer to "+
			"it")}
	}
	o := newObject(path, m)
	if nested, ok := o.take("secretKeyRef"); ok {
		_, hasName := o.take("name")
		_, hasKey := o.take("key")
		if hasName || hasKey {
			o.report(invalid(path, "must be "+secretRefForms+", not both", "use one of the two forms"))
		}
		o.rejectUnknown([]string{"secretKeyRef"})
		inner, ok := nested.(map[string]any)
		if !ok {
			o.report(wrongType(path.Child("secretKeyRef"), "an object with name and key", ""))
			return SecretReference{}, o.problems
		}
		outer := o.problems
		o = newObject(path.Child("secretKeyRef"), inner)
		o.problems = outer
	}
	name, key := o.getString("name"), o.getString("key")
	o.rejectUnknown([]string{"name", "key"})
	if len(o.problems) > 0 {
		return SecretReference{}, o.problems
	}
	return completeRef(name, key, o.path)
}

// looksLikeSecretRef reports whether a value has the form of a secret reference.
func looksLikeSecretRef(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if _, nested := m["secretKeyRef"]; nested {
		return true
	}
	_, name := m["name"]
	_, key := m["key"]
	return name && key && len(m) == 2
}

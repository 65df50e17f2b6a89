// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

const secretRefForms = "a secret reference, either {name, key} or {secretKeyRef: {name, key}}"

// Resolve returns the reference whichever way it is spelt, or an error at path when it is not exactly one complete
// form. It is for references whose schema is typed; ParseSecretRef reads those inside open JSON.
func (r *SecretKeyRef) Resolve(path *field.Path) (SecretReference, field.ErrorList) {
	name, key := ptr.Deref(r.Name, ""), ptr.Deref(r.Key, "")
	if r.SecretKeyRef != nil {
		if name != "" || key != "" {
			return SecretReference{}, field.ErrorList{invalid(path, "must be "+secretRefForms+", not both")}
		}
		path = path.Child("secretKeyRef")
		name, key = ptr.Deref(r.SecretKeyRef.Name, ""), ptr.Deref(r.SecretKeyRef.Key, "")
	}
	return completeRef(name, key, path)
}

func completeRef(name, key string, path *field.Path) (SecretReference, field.ErrorList) {
	var errs field.ErrorList
	if name == "" {
		errs = append(errs, field.Required(path.Child("name"), "the name of the Secret"))
	}
	if key == "" {
		errs = append(errs, field.Required(path.Child("key"), "the key within the Secret"))
	}
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		errs = append(errs, invalid(path.Child("name"), "is no name of a Secret: use lower-case letters, digits, '-' and '.'"))
	}
	if key != "" && len(validation.IsConfigMapKey(key)) > 0 {
		errs = append(errs, invalid(path.Child("key"), "is no key of a Secret: use letters, digits, '-', '_' and '.'"))
	}
	if len(errs) > 0 {
		return SecretReference{}, errs
	}
	return SecretReference{Name: name, Key: key}, nil
}

// ParseSecretRef reads a secret reference from decoded JSON, in either form.
func ParseSecretRef(v any, path *field.Path) (SecretReference, field.ErrorList) {
	m, ok := v.(map[string]any)
	if !ok {
		return SecretReference{}, field.ErrorList{wrongType(path, secretRefForms+
			"; a value never stands in the resource itself: put it into a Secret")}
	}
	o := newObject(path, m)
	if nested, ok := o.take("secretKeyRef"); ok {
		_, hasName := o.take("name")
		_, hasKey := o.take("key")
		if hasName || hasKey {
			o.fail(invalid(path, "must be "+secretRefForms+", not both"))
		}
		o.refuseRest([]string{"secretKeyRef"})
		inner, ok := nested.(map[string]any)
		if !ok {
			o.fail(wrongType(path.Child("secretKeyRef"), "an object with name and key"))
			return SecretReference{}, o.errs
		}
		outer := o.errs
		o = newObject(path.Child("secretKeyRef"), inner)
		o.errs = outer
	}
	name, key := o.getString("name"), o.getString("key")
	o.refuseRest([]string{"name", "key"})
	if len(o.errs) > 0 {
		return SecretReference{}, o.errs
	}
	return completeRef(name, key, o.path)
}

// looksLikeSecretRef tells whether a value can only be meant as a secret reference.
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

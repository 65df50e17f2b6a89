// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DerivedSecret returns the immutable Secret of derived values, or nil; no other builder reveals secret values.
func DerivedSecret(p *Params) *corev1.Secret {
	if len(p.Derived) == 0 {
		return nil
	}
	data := make(map[string][]byte, len(p.Derived))
	for name, value := range p.Derived {
		data[name] = value.Reveal()
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: objectMeta(p.CR, p.DerivedName),
		Immutable:  new(true),
		Type:       corev1.SecretTypeOpaque,
		Data:       data,
	}
}

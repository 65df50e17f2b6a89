// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// ConfigMap returns the immutable ConfigMap of the generated configuration, or nil if the image runs its own.
func ConfigMap(p *Params) *corev1.ConfigMap {
	if p.Config == nil {
		return nil
	}
	return immutable(p, names.ConfigMapName(p.CR.Name, p.Config), names.ConfigKey, string(p.Config))
}

// CABundle returns the immutable ConfigMap of trusted CA certificates, a copy that restarted pods rely on, or nil.
func CABundle(p *Params) *corev1.ConfigMap {
	if p.CABundle == "" {
		return nil
	}
	return immutable(p, names.CABundleName(p.CR.Name, p.CABundle), names.CABundleKey, p.CABundle)
}

func immutable(p *Params, name, key, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: objectMeta(p.CR, name),
		Immutable:  new(true),
		Data:       map[string]string{key: content},
	}
}

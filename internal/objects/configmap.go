// SPDX-License-Identifier: Apache-2.0

package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConfigMap builds the immutable ConfigMap that holds the generated configuration; nil where the image runs its own.
func ConfigMap(p *Params) *corev1.ConfigMap {
	if p.Config == nil {
		return nil
	}
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: stamp(p.CR, ConfigMapName(p.CR.Name, p.Config)),
		Immutable:  new(true),
		Data:       map[string]string{ConfigKey: string(p.Config)},
	}
}

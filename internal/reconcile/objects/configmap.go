// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// ConfigMap returns the immutable ConfigMap of the generated configuration, or nil if the image runs its own.
func ConfigMap(p *Params) *corev1.ConfigMap {
	if p.Config == nil {
		return nil
	}
	cm := immutable(p, ConfigMapName(p.CR.Name, p.Config, p.ConfigFiles), names.ConfigKey, string(p.Config))
	for name, content := range p.ConfigFiles {
		if utf8.Valid(content) {
			cm.Data[name] = string(content)
			continue
		}
		if cm.BinaryData == nil {
			cm.BinaryData = map[string][]byte{}
		}
		cm.BinaryData[name] = content
	}
	return cm
}

// ConfigMapName returns the name of the ConfigMap of a configuration and the files beside it.
func ConfigMapName(resource string, config []byte, files map[string][]byte) string {
	return names.ConfigMapName(resource, withFiles(config, files))
}

// withFiles returns a text that differs if the configuration or a file differs; without files, the configuration.
func withFiles(config []byte, files map[string][]byte) []byte {
	if len(files) == 0 {
		return config
	}
	all := slices.Clone(config)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all = fmt.Appendf(all, "\n--- %s %d\n%s", name, len(files[name]), files[name])
	}
	return all
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

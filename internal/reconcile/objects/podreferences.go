// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Kinds of a Reference.
const (
	KindSecret    = "Secret"
	KindConfigMap = "ConfigMap"
)

// PathOverrides is the field of the overrides.
const PathOverrides = "spec.workload.overrides"

// Reference is a Secret or ConfigMap that a custom resource depends on.
type Reference struct {
	Kind            string
	Namespace, Name string
	// Keys are the keys that are read; empty means all.
	Keys []string
	// Optional reports that the custom resource works without the object or one of the keys.
	Optional bool
	// Path is the field that refers to the object; empty for implicit references.
	Path string
}

type podReferences struct {
	namespace string
	list      []Reference
}

// PodReferences returns the Secrets and ConfigMaps of the overrides, except those without a name.
func PodReferences(cr *v1alpha2.LlamaStackDistribution) []Reference {
	const field = PathOverrides
	o, r := overridesOf(&cr.Spec), &podReferences{namespace: cr.Namespace}
	r.ofEnvironment(o.Env, o.EnvFrom, field)
	for i := range o.Volumes {
		r.ofVolume(&o.Volumes[i], fmt.Sprintf("%s.volumes[%d]", field, i))
	}
	r.referencesOfContainers(&cr.Spec)
	return r.list
}

// ofEnvironment adds the objects of variables and envFrom of a container at the path.
func (r *podReferences) ofEnvironment(env []corev1.EnvVar, envFrom []corev1.EnvFromSource, field string) {
	last := lastOf(env)
	for i := range env {
		if from := env[i].ValueFrom; from != nil && last[env[i].Name] == i {
			r.ofVariable(from, fmt.Sprintf("%s.env[%d].valueFrom", field, i))
		}
	}
	for i := range envFrom {
		path := fmt.Sprintf("%s.envFrom[%d]", field, i)
		if s := envFrom[i].SecretRef; s != nil {
			r.add(KindSecret, s.Name, nil, s.Optional, path+".secretRef")
		}
		if c := envFrom[i].ConfigMapRef; c != nil {
			r.add(KindConfigMap, c.Name, nil, c.Optional, path+".configMapRef")
		}
	}
}

func (r *podReferences) add(kind, name string, keys []string, optional *bool, path string) {
	if name != "" {
		r.list = append(r.list, Reference{kind, r.namespace, name, keys, ptr.Deref(optional, false), path})
	}
}

func (r *podReferences) ofVariable(from *corev1.EnvVarSource, path string) {
	if s := from.SecretKeyRef; s != nil {
		r.add(KindSecret, s.Name, []string{s.Key}, s.Optional, path+".secretKeyRef")
	}
	if c := from.ConfigMapKeyRef; c != nil {
		r.add(KindConfigMap, c.Name, []string{c.Key}, c.Optional, path+".configMapKeyRef")
	}
}

func (r *podReferences) ofVolume(v *corev1.Volume, path string) {
	if s := v.Secret; s != nil {
		r.add(KindSecret, s.SecretName, keysOf(s.Items), s.Optional, path+".secret")
	}
	if c := v.ConfigMap; c != nil {
		r.add(KindConfigMap, c.Name, keysOf(c.Items), c.Optional, path+".configMap")
	}
	if v.Projected == nil {
		return
	}
	for j := range v.Projected.Sources {
		source, path := &v.Projected.Sources[j], fmt.Sprintf("%s.projected.sources[%d]", path, j)
		if s := source.Secret; s != nil {
			r.add(KindSecret, s.Name, keysOf(s.Items), s.Optional, path+".secret")
		}
		if c := source.ConfigMap; c != nil {
			r.add(KindConfigMap, c.Name, keysOf(c.Items), c.Optional, path+".configMap")
		}
	}
}

func keysOf(items []corev1.KeyToPath) []string {
	var keys []string
	for i := range items {
		keys = append(keys, items[i].Key)
	}
	return keys
}

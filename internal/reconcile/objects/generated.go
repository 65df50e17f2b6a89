// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Generated are the names of the generated immutable objects of a pod; a name may be empty.
type Generated struct {
	Config        string
	CABundle      string
	DerivedSecret string
}

// GeneratedFor reads the names from a pod of the resource that this package built.
func GeneratedFor(resource string, pod *corev1.PodSpec) Generated {
	g := Generated{Config: MountedConfigMap(pod), CABundle: configMapIn(pod, caBundleVolume)}
	for i := range pod.Containers {
		for _, v := range pod.Containers[i].Env {
			if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil &&
				names.IsDerivedSecret(resource, v.ValueFrom.SecretKeyRef.Name) {
				g.DerivedSecret = v.ValueFrom.SecretKeyRef.Name
			}
		}
	}
	return g
}

// MountedConfigMap returns the ConfigMap of the configuration that a pod of this package mounts, or "".
func MountedConfigMap(pod *corev1.PodSpec) string { return configMapIn(pod, configVolume) }

func configMapIn(pod *corev1.PodSpec, volume string) string {
	for i := range pod.Volumes {
		if v := &pod.Volumes[i]; v.Name == volume && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// Counterpart returns the name in g that corresponds to an object of other, and whether the object is in other.
func (g Generated) Counterpart(other Generated, kind, name string) (string, bool) {
	switch {
	case kind == "ConfigMap" && name == other.Config:
		return g.Config, true
	case kind == "ConfigMap" && name == other.CABundle:
		return g.CABundle, true
	case kind == "Secret" && name == other.DerivedSecret:
		return g.DerivedSecret, true
	}
	return "", false
}

// Has reports whether an object is in g.
func (g Generated) Has(kind, name string) bool {
	_, ok := g.Counterpart(g, kind, name)
	return ok
}

// Family returns the common name prefix of a generated object and its predecessors.
func Family(name string) string { return name[:strings.LastIndexByte(name, '-')+1] }

// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// Generated are the names of what the operator made for a pod: immutable objects that are named by their content. A
// name is empty where the pod needs no such object.
type Generated struct {
	// Config is the ConfigMap of the configuration.
	Config string
	// CABundle is the ConfigMap of the CA certificates.
	CABundle string
	// DerivedSecret is the Secret of what was made of secret values.
	DerivedSecret string
}

// GeneratedFor reads the names from a pod of the resource that this package made.
func GeneratedFor(resource string, pod *corev1.PodSpec) Generated {
	g := Generated{Config: MountedConfigMap(pod), CABundle: configMapIn(pod, caBundleVolume)}
	for i := range pod.Containers {
		for _, v := range pod.Containers[i].Env {
			if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil &&
				isDerivedSecret(resource, v.ValueFrom.SecretKeyRef.Name) {
				g.DerivedSecret = v.ValueFrom.SecretKeyRef.Name
			}
		}
	}
	return g
}

// MountedConfigMap returns the name of the ConfigMap that a pod made by this package mounts its configuration from;
// empty where there is none.
func MountedConfigMap(pod *corev1.PodSpec) string { return configMapIn(pod, configVolume) }

func configMapIn(pod *corev1.PodSpec, volume string) string {
	for i := range pod.Volumes {
		if v := &pod.Volumes[i]; v.Name == volume && v.ConfigMap != nil {
			return v.ConfigMap.Name
		}
	}
	return ""
}

var contentHash = regexp.MustCompile(`^[0-9a-f]{10}$`)

func isDerivedSecret(resource, name string) bool {
	hash, ok := strings.CutPrefix(name, resource+derivedSuffix)
	return ok && (contentHash.MatchString(hash) || hash == secret.OnCluster)
}

// InPlaceOf reports which of these stands for an object that is one of the other ones, and whether it is one of them at
// all.
func (g Generated) InPlaceOf(other Generated, kind, name string) (string, bool) {
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

// Has reports whether an object is one of these.
func (g Generated) Has(kind, name string) bool {
	_, ok := g.InPlaceOf(g, kind, name)
	return ok
}

// Family is what the names of a generated object and of its predecessors have in common.
func Family(name string) string { return name[:strings.LastIndexByte(name, '-')+1] }

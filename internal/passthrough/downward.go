// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The last entries stand for all keys: fieldRef checks fields with a key by themselves.
var (
	// podFieldsOfVariables are the fields of a pod that environment variables can have.
	podFieldsOfVariables = []string{
		metadataName, "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",
		"status.podIPs", "metadata.labels['KEY']", "metadata.annotations['KEY']",
	}
	// podFieldsOfFiles are the fields of a pod that files of a volume can have.
	podFieldsOfFiles = []string{
		metadataName, "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations", "metadata.labels['KEY']", "metadata.annotations['KEY']",
	}
	// containerResources are the resources of a container that variables and files can have, apart from huge pages.
	containerResources = []string{
		"limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
	}
)

// fieldRef checks a field of the pod, which must be one of known.
func (r *report) fieldRef(f *corev1.ObjectFieldSelector, known []string, at *field.Path) {
	if f.APIVersion != "" {
		r.oneOf(at.Child("apiVersion"), f.APIVersion, "v1")
	}
	at = at.Child("fieldPath")
	name, key, subscripted := strings.Cut(strings.TrimSuffix(f.FieldPath, "']"), "['")
	switch {
	case f.FieldPath == "":
		r.missing(at, "give a field of the pod, such as metadata.name")
	case subscripted && strings.HasSuffix(f.FieldPath, "']") && (name == "metadata.labels" || name == "metadata.annotations"):
		if name == "metadata.annotations" {
			key = strings.ToLower(key)
		}
		if len(validation.IsQualifiedName(key)) > 0 {
			r.invalid(at, f.FieldPath, "no label or annotation can have this key", "write one such as team or example.com/team")
		}
	case f.FieldPath == "spec.host" && slices.Contains(known, "spec.nodeName"): // the name that Kubernetes had for it first
	default:
		r.oneOf(at, f.FieldPath, known...)
	}
}

// resourceFieldRef checks a resource of the container.
func (r *report) resourceFieldRef(f *corev1.ResourceFieldSelector, at *field.Path) {
	if d := f.Divisor.String(); strings.HasSuffix(f.Resource, ".cpu") && d != "0" && d != "1" && d != "1m" {
		r.oneOf(at.Child("divisor"), d, "1", "1m")
	}
	at = at.Child("resource")
	switch {
	case f.Resource == "":
		r.missing(at, "give a resource of the container, such as limits.cpu")
	case strings.HasPrefix(f.Resource, "limits.hugepages-"), strings.HasPrefix(f.Resource, "requests.hugepages-"):
	default:
		r.oneOf(at, f.Resource, containerResources...)
	}
}

// downwardAPI checks which fields of the pod and resources of its containers become which files. at is the volume or its part.
func (c volumeCheck) downwardAPI(files []corev1.DownwardAPIVolumeFile, at *field.Path) {
	for i := range files {
		file, at := &files[i], at.Child("items").Index(i)
		c.required(at.Child("path"), file.Path, "give the name of the file")
		c.below(file.Path, at.Child("path"))
		c.mode(file.Mode, at.Child("mode"))
		switch {
		case file.FieldRef != nil && file.ResourceFieldRef != nil:
			c.conflict(at, "has both fieldRef and resourceFieldRef")
		case file.FieldRef != nil:
			c.fieldRef(file.FieldRef, podFieldsOfFiles, at.Child("fieldRef"))
		case file.ResourceFieldRef != nil:
			c.required(at.Child("resourceFieldRef", "containerName"), file.ResourceFieldRef.ContainerName, "give the name of a container of the pod")
			c.resourceFieldRef(file.ResourceFieldRef, at.Child("resourceFieldRef"))
		default:
			c.missing(at, "give one source: fieldRef or resourceFieldRef")
		}
	}
}

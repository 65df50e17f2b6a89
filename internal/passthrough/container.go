// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// environment checks environment variables. Of a name that stands twice the last counts, and nothing of the others gets into a pod.
func (c *check) environment(list []corev1.EnvVar, at *field.Path) {
	last := map[string]int{}
	for i := range list {
		last[list[i].Name] = i
	}
	for i := range list {
		v, at := &list[i], at.Index(i)
		if last[v.Name] != i {
			continue
		}
		if v.Name == "" {
			c.missing(at.Child("name"), "give the name of the variable")
		} else if len(validation.IsRelaxedEnvVarName(v.Name)) > 0 {
			c.invalid(at.Child("name"), v.Name, "no environment variable can have this name", "use letters, digits and '_'")
		}
		if v.ValueFrom == nil {
			continue
		}
		if v.Value != "" {
			c.conflict(at.Child("valueFrom"), "excludes value")
		}
		c.valueFrom(v.ValueFrom, at.Child("valueFrom"))
	}
}

func (c *check) valueFrom(from *corev1.EnvVarSource, at *field.Path) {
	sources := 0
	if r := from.SecretKeyRef; r != nil {
		sources++
		c.keyOf(r.Name, r.Key, "Secret", at.Child("secretKeyRef"))
	}
	if r := from.ConfigMapKeyRef; r != nil {
		sources++
		c.keyOf(r.Name, r.Key, "ConfigMap", at.Child("configMapKeyRef"))
	}
	if r := from.FieldRef; r != nil {
		sources++
		c.fieldRef(r, podFieldsOfVariables, at.Child("fieldRef"))
	}
	if r := from.ResourceFieldRef; r != nil {
		sources++
		c.resourceFieldRef(r, at.Child("resourceFieldRef"))
	}
	if r := from.FileKeyRef; r != nil {
		sources++
		c.fileKeyRef(r, at.Child("fileKeyRef"))
	}
	switch {
	case sources == 0:
		c.missing(at, "give one source: secretKeyRef, configMapKeyRef, fieldRef or resourceFieldRef")
	case sources > 1:
		c.conflict(at, "has several sources")
	}
}

// fileKeyRef checks a reference to a key in a file of a volume.
func (c *check) fileKeyRef(r *corev1.FileKeySelector, at *field.Path) {
	c.required(at.Child("key"), r.Key, "give the key within the file")
	c.required(at.Child("path"), r.Path, "give the file")
	c.below(r.Path, at.Child("path"))
	c.knownVolume(r.VolumeName, at.Child("volumeName"))
}

// knownVolume checks the name of a volume that must be given.
func (c *check) knownVolume(name string, at *field.Path) {
	switch {
	case name == "":
		c.missing(at, "give the name of a volume of spec.workload.overrides.volumes")
	case !slices.Contains(c.volumes, name) && !slices.Contains(c.volumesOfOperator, name):
		fix := "add one to spec.workload.overrides.volumes"
		if len(c.volumes) > 0 {
			fix += ", or name one of " + bounds.Names(c.volumes)
		}
		c.add(at, field.ErrorTypeNotFound, name, "there is no such volume", fix)
	}
}

// keyOf checks a reference to a key of a Secret or ConfigMap.
func (c *check) keyOf(name, key, kind string, at *field.Path) {
	c.requiredName(at.Child("name"), name, kind)
	if key == "" {
		c.missing(at.Child("key"), "give the key within the "+kind)
	} else if len(validation.IsConfigMapKey(key)) > 0 {
		c.invalid(at.Child("key"), key, "no "+kind+" can have this key", "use letters, digits, '-', '_' and '.'")
	}
}

// mounts checks where volumes are mounted.
func (c *check) mounts(o *v1alpha2.WorkloadOverrides, at *field.Path) {
	taken := map[string]bool{}
	for i := range o.VolumeMounts {
		m, at := &o.VolumeMounts[i], at.Index(i)
		c.knownVolume(m.Name, at.Child("name"))
		switch {
		case m.MountPath == "":
			c.missing(at.Child("mountPath"), "give the directory to mount it at")
		case taken[m.MountPath]:
			c.add(at.Child("mountPath"), field.ErrorTypeDuplicate, m.MountPath, "", "mount one volume at each path")
		}
		taken[m.MountPath] = true
		c.below(m.SubPath, at.Child("subPath"))
		if m.SubPath != "" && m.SubPathExpr != "" {
			c.conflict(at.Child("subPathExpr"), "excludes subPath")
		}
		c.below(m.SubPathExpr, at.Child("subPathExpr"))
		if p := m.MountPropagation; p != nil {
			c.oneOf(at.Child("mountPropagation"), string(*p), string(corev1.MountPropagationNone), string(corev1.MountPropagationHostToContainer))
		}
		c.recursiveReadOnly(m, at.Child("recursiveReadOnly"))
	}
}

// recursiveReadOnly checks whether what is mounted below the volume is read-only, too.
func (c *check) recursiveReadOnly(m *corev1.VolumeMount, at *field.Path) {
	if m.RecursiveReadOnly == nil {
		return
	}
	mode := *m.RecursiveReadOnly
	c.oneOf(at, string(mode), string(corev1.RecursiveReadOnlyDisabled), string(corev1.RecursiveReadOnlyIfPossible), string(corev1.RecursiveReadOnlyEnabled))
	if mode != corev1.RecursiveReadOnlyIfPossible && mode != corev1.RecursiveReadOnlyEnabled {
		return
	}
	if !m.ReadOnly {
		c.invalid(at, string(mode), "works only with readOnly: true", "set that, or remove it")
	}
	if p := m.MountPropagation; p != nil && *p != corev1.MountPropagationNone {
		c.invalid(at, string(mode), "works only with mountPropagation: "+string(corev1.MountPropagationNone), "set that, or remove it")
	}
}

// below checks a path that must lead downwards.
func (r *report) below(value string, at *field.Path) {
	if path.IsAbs(value) || slices.Contains(strings.Split(value, "/"), "..") {
		r.invalid(at, value, "must be a relative path without ..", "")
	}
}

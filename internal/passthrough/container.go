// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// environment checks environment variables. If a name stands twice, the last one counts, and the others do not get into a pod.
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
		if r := v.ValueFrom.SecretKeyRef; r != nil {
			c.keyOf(r.Name, r.Key, "Secret", at.Child("valueFrom", "secretKeyRef"))
		}
		if r := v.ValueFrom.ConfigMapKeyRef; r != nil {
			c.keyOf(r.Name, r.Key, "ConfigMap", at.Child("valueFrom", "configMapKeyRef"))
		}
	}
}

// knownVolume checks the name of a volume.
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
	}
}

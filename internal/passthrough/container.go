// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"fmt"
	"maps"
	"path"
	"reflect"
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
		if r.FieldPath == "" {
			c.missing(at.Child("fieldRef", "fieldPath"), "give a field of the pod, such as metadata.name")
		}
	}
	if r := from.ResourceFieldRef; r != nil {
		sources++
		if r.Resource == "" {
			c.missing(at.Child("resourceFieldRef", "resource"), "give a resource of the container, such as limits.cpu")
		}
	}
	if from.FileKeyRef != nil {
		sources++
	}
	switch {
	case sources == 0:
		c.missing(at, "give one source: secretKeyRef, configMapKeyRef, fieldRef or resourceFieldRef")
	case sources > 1:
		c.conflict(at, "has several sources")
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
	known := map[string]bool{}
	for i := range o.Volumes {
		known[o.Volumes[i].Name] = true
	}
	names := slices.Sorted(maps.Keys(known))
	taken := map[string]bool{}
	for i := range o.VolumeMounts {
		m, at := &o.VolumeMounts[i], at.Index(i)
		switch {
		case m.Name == "":
			c.missing(at.Child("name"), "give the name of a volume of spec.workload.overrides.volumes")
		case !known[m.Name] && !slices.Contains(c.volumesOfOperator, m.Name):
			fix := "add one to spec.workload.overrides.volumes"
			if len(names) > 0 {
				fix += ", or name one of " + bounds.Names(names)
			}
			c.add(at.Child("name"), field.ErrorTypeNotFound, m.Name, "there is no such volume", fix)
		}
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
	}
}

// below checks a path that must lead downwards.
func (r *report) below(value string, at *field.Path) {
	if path.IsAbs(value) || slices.Contains(strings.Split(value, "/"), "..") {
		r.invalid(at, value, "must be a relative path without ..", "")
	}
}

// volumes checks volumes: their names, that each has one source, and the names and paths in the sources that hold content.
func (c *check) volumes(list []corev1.Volume, at *field.Path) {
	seen := map[string]bool{}
	for i := range list {
		v, at := &list[i], at.Index(i)
		switch {
		case v.Name == "":
			c.missing(at.Child("name"), "give the volume a name")
		case len(validation.IsDNS1123Label(v.Name)) > 0:
			c.invalid(at.Child("name"), v.Name, "no volume can have this name", "use at most 63 lower-case letters, digits and '-'")
		case seen[v.Name]:
			c.add(at.Child("name"), field.ErrorTypeDuplicate, v.Name, "", "give each volume a name of its own")
		}
		seen[v.Name] = true
		switch names := sources(&v.VolumeSource); {
		case len(names) == 0:
			c.missing(at, "give the volume a source, such as configMap, secret, persistentVolumeClaim or emptyDir: {}")
		case len(names) > 1:
			c.conflict(at, fmt.Sprintf("has several sources: %s", strings.Join(names, ", ")))
		}
		c.source(&v.VolumeSource, at)
	}
}

func (c *check) source(v *corev1.VolumeSource, at *field.Path) {
	if s := v.Secret; s != nil {
		c.requiredName(at.Child("secret", "secretName"), s.SecretName, "Secret")
		c.items(s.Items, s.DefaultMode, at.Child("secret"))
	}
	if s := v.ConfigMap; s != nil {
		c.requiredName(at.Child("configMap", "name"), s.Name, "ConfigMap")
		c.items(s.Items, s.DefaultMode, at.Child("configMap"))
	}
	if s := v.PersistentVolumeClaim; s != nil {
		c.requiredName(at.Child("persistentVolumeClaim", "claimName"), s.ClaimName, "PersistentVolumeClaim")
	}
	if s := v.EmptyDir; s != nil && s.SizeLimit != nil && s.SizeLimit.Sign() < 0 {
		c.invalid(at.Child("emptyDir", "sizeLimit"), s.SizeLimit.String(), "must not be negative", "")
	}
	if s := v.HostPath; s != nil && s.Path == "" {
		c.missing(at.Child("hostPath", "path"), "give a directory of the node")
	}
	if s := v.NFS; s != nil && !path.IsAbs(s.Path) {
		c.invalid(at.Child("nfs", "path"), s.Path, "must be an absolute path", "")
	}
	if s := v.Projected; s != nil {
		c.projected(s, at.Child("projected"))
	}
}

func (c *check) projected(p *corev1.ProjectedVolumeSource, at *field.Path) {
	c.mode(p.DefaultMode, at.Child("defaultMode"))
	for i := range p.Sources {
		s, at := &p.Sources[i], at.Child("sources").Index(i)
		if s.Secret != nil {
			c.requiredName(at.Child("secret", "name"), s.Secret.Name, "Secret")
			c.items(s.Secret.Items, nil, at.Child("secret"))
		}
		if s.ConfigMap != nil {
			c.requiredName(at.Child("configMap", "name"), s.ConfigMap.Name, "ConfigMap")
			c.items(s.ConfigMap.Items, nil, at.Child("configMap"))
		}
		if t := s.ServiceAccountToken; t != nil {
			c.below(t.Path, at.Child("serviceAccountToken", "path"))
			if t.Path == "" {
				c.missing(at.Child("serviceAccountToken", "path"), "give the name of the file")
			}
			if t.ExpirationSeconds != nil && *t.ExpirationSeconds < 600 {
				c.invalid(at.Child("serviceAccountToken", "expirationSeconds"), *t.ExpirationSeconds, "must be at least 600, ten minutes", "")
			}
		}
	}
}

// items checks which keys of an object become which files.
func (c *check) items(list []corev1.KeyToPath, mode *int32, at *field.Path) {
	c.mode(mode, at.Child("defaultMode"))
	for i := range list {
		item, at := &list[i], at.Child("items").Index(i)
		if item.Key == "" {
			c.missing(at.Child("key"), "give a key of the object")
		}
		if item.Path == "" {
			c.missing(at.Child("path"), "give the name of the file")
		}
		c.below(item.Path, at.Child("path"))
		c.mode(item.Mode, at.Child("mode"))
	}
}

func (r *report) mode(mode *int32, at *field.Path) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		r.invalid(at, *mode, "must be between 0 and 0777 in octal, 511 in decimal", "")
	}
}

// sources names the sources that a volume has, in the order of the API.
func sources(v *corev1.VolumeSource) []string {
	var names []string
	fields := reflect.ValueOf(v).Elem()
	for i := range fields.NumField() {
		if !fields.Field(i).IsNil() {
			name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

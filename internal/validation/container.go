// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// CheckContainers returns the values of the user's containers that Kubernetes would reject, as far as they name other
// things. volumes are those that the containers may mount; mounts of operatorVolumes
// are not checked.
func CheckContainers(sidecars, initContainers []corev1.Container, volumes []corev1.Volume,
	operatorVolumes []string) problem.List {
	c := &check{operatorVolumes: operatorVolumes}
	for i := range volumes {
		c.volumes = append(c.volumes, volumes[i].Name)
	}
	slices.Sort(c.volumes)
	seen := map[string]bool{}
	at := field.NewPath("spec", "workload", "overrides")
	for i := range sidecars {
		at := at.Child("sidecars").Index(i)
		c.container(&sidecars[i], seen, at)
		c.restartPolicy(&sidecars[i], at.Child("restartPolicy"))
	}
	for i := range initContainers {
		c.container(&initContainers[i], seen, at.Child("initContainers").Index(i))
	}
	return c.problems.List()
}

func (c *check) container(container *corev1.Container, seen map[string]bool, at *field.Path) {
	switch name := container.Name; {
	case name == "":
		c.missing(at.Child("name"), "set the name of the container")
	case len(validation.IsDNS1123Label(name)) > 0:
		c.invalid(at.Child("name"), name, "is not a valid name of a container", "use at most 63 lower-case letters, digits "+
			"and '-'")
	case seen[name]:
		c.add(at.Child("name"), field.ErrorTypeDuplicate, name, "", "use unique container names")
	}
	seen[container.Name] = true
	if container.Image == "" {
		c.missing(at.Child("image"), "set the image of the container")
	}
	c.environment(container.Env, at.Child("env"))
	c.environmentFrom(container.EnvFrom, at.Child("envFrom"))
	c.mounts(container.VolumeMounts, at.Child("volumeMounts"))
	c.resources(&container.Resources, at.Child("resources"))
}

// restartPolicy warns of a policy that makes a native sidecar only of an init container.
func (c *check) restartPolicy(container *corev1.Container, at *field.Path) {
	if p := container.RestartPolicy; p == nil || *p != corev1.ContainerRestartPolicyAlways {
		return
	}
	c.problems.Add(problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Path: at.String(),
		Detail: "has no effect, because these containers always restart, and Kubernetes before 1.35 refuses it",
		Fix:    "remove it, or move the container to initContainers, so that it starts before the server",
	})
}

// environment checks environment variables. Only the last one of each name is used in a pod.
func (c *check) environment(list []corev1.EnvVar, at *field.Path) {
	last := map[string]int{}
	for i := range list {
		last[list[i].Name] = i
	}
	for i := range list {
		v, at := &list[i], at.Index(i)
		switch {
		case last[v.Name] != i:
			continue
		case v.Name == "":
			c.missing(at.Child("name"), "set the name of the variable")
		case len(validation.IsRelaxedEnvVarName(v.Name)) > 0:
			c.invalid(at.Child("name"), v.Name, "is not a valid name of an environment variable", "use letters, digits and '_'")
		}
		if v.ValueFrom == nil {
			continue
		}
		at = at.Child("valueFrom")
		if r := v.ValueFrom.SecretKeyRef; r != nil {
			c.keyOf(r.Name, r.Key, "Secret", at.Child("secretKeyRef"))
		}
		if r := v.ValueFrom.ConfigMapKeyRef; r != nil {
			c.keyOf(r.Name, r.Key, "ConfigMap", at.Child("configMapKeyRef"))
		}
		if r := v.ValueFrom.FileKeyRef; r != nil {
			c.knownVolume(r.VolumeName, at.Child("fileKeyRef", "volumeName"))
		}
	}
}

func (c *check) environmentFrom(list []corev1.EnvFromSource, at *field.Path) {
	for i := range list {
		from, at := &list[i], at.Index(i)
		if from.Prefix != "" && len(validation.IsRelaxedEnvVarName(from.Prefix)) > 0 {
			c.invalid(at.Child("prefix"), from.Prefix, "is not a valid start of a variable name", "use letters, digits and "+
				"'_'")
		}
		if from.SecretRef != nil {
			c.requiredName(at.Child("secretRef", "name"), from.SecretRef.Name, "Secret")
		}
		if from.ConfigMapRef != nil {
			c.requiredName(at.Child("configMapRef", "name"), from.ConfigMapRef.Name, "ConfigMap")
		}
	}
}

// keyOf checks a reference to a key of a Secret or ConfigMap.
func (c *check) keyOf(name, key, kind string, at *field.Path) {
	c.requiredName(at.Child("name"), name, kind)
	if key == "" {
		c.missing(at.Child("key"), "set the key in the "+kind)
	} else if len(validation.IsConfigMapKey(key)) > 0 {
		c.invalid(at.Child("key"), key, "is not a valid key of a "+kind, "use letters, digits, '-', '_' and '.'")
	}
}

// sources checks volumes and the names of the objects they mount.
func (c *check) sources(list []corev1.Volume, at *field.Path) {
	seen := map[string]bool{}
	for i := range list {
		v, at := &list[i], at.Index(i)
		switch {
		case v.Name == "":
			c.missing(at.Child("name"), "set the name of the volume")
		case len(validation.IsDNS1123Label(v.Name)) > 0:
			c.invalid(at.Child("name"), v.Name, "is not a valid name of a volume", "use at most 63 lower-case letters, digits "+
				"and '-'")
		case seen[v.Name]:
			c.add(at.Child("name"), field.ErrorTypeDuplicate, v.Name, "", "use unique volume names")
		}
		seen[v.Name] = true
		if s := v.Secret; s != nil {
			c.requiredName(at.Child("secret", "secretName"), s.SecretName, "Secret")
		}
		if s := v.ConfigMap; s != nil {
			c.requiredName(at.Child("configMap", "name"), s.Name, "ConfigMap")
		}
		if s := v.PersistentVolumeClaim; s != nil {
			c.requiredName(at.Child("persistentVolumeClaim", "claimName"), s.ClaimName, "PersistentVolumeClaim")
		}
		if s := v.Image; s != nil && s.Reference == "" { // rejected only when a pod is created
			c.missing(at.Child("image", "reference"), "set the image reference")
		}
	}
}

func (c *check) mounts(list []corev1.VolumeMount, at *field.Path) {
	taken := map[string]bool{}
	for i := range list {
		m, at := &list[i], at.Index(i)
		c.knownVolume(m.Name, at.Child("name"))
		switch {
		case m.MountPath == "":
			c.missing(at.Child("mountPath"), "set the mount path")
		case taken[m.MountPath]:
			c.add(at.Child("mountPath"), field.ErrorTypeDuplicate, m.MountPath, "", "use unique mount paths")
		}
		taken[m.MountPath] = true
	}
}

func (c *check) knownVolume(name string, at *field.Path) {
	switch {
	case name == "":
		c.missing(at, "set the name of a volume in spec.workload.overrides.volumes")
	case !slices.Contains(c.volumes, name) && !slices.Contains(c.operatorVolumes, name):
		fix := "add one to spec.workload.overrides.volumes"
		if len(c.volumes) > 0 {
			fix += ", or name one of " + limits.Names(c.volumes)
		}
		c.add(at, field.ErrorTypeNotFound, name, "there is no such volume", fix)
	}
}

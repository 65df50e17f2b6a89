// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// userContainers are the containers that the user adds to the pod.
type userContainers struct{ sidecars, initContainers []corev1.Container }

// userContainersOf decodes the user's containers, and reports those that are not of Kubernetes' type.
func userContainersOf(spec *v1alpha2.LlamaStackDistributionSpec) (userContainers, problem.List) {
	var problems problem.List
	decode := func(list []apiextensionsv1.JSON, name string) []corev1.Container {
		var containers []corev1.Container
		for i := range list {
			c, found := validation.Decode[corev1.Container](list[i].Raw, overridesPath(name).Index(i))
			containers, problems = append(containers, c), append(problems, found...)
		}
		return containers
	}
	o := overridesOf(spec)
	return userContainers{decode(o.Sidecars, "sidecars"), decode(o.InitContainers, "initContainers")}, problems
}

func overridesPath(name string) *field.Path {
	return field.NewPath("spec", "workload", "overrides", name)
}

// each calls do for each container with its field, the sidecars first.
func (u *userContainers) each(do func(c *corev1.Container, at *field.Path)) {
	for i := range u.sidecars {
		do(&u.sidecars[i], overridesPath("sidecars").Index(i))
	}
	for i := range u.initContainers {
		do(&u.initContainers[i], overridesPath("initContainers").Index(i))
	}
}

// CheckContainers returns the problems of the user's containers: those that Kubernetes would reject, and parts that are
// the operator's.
func CheckContainers(p *Params) problem.List {
	user, problems := userContainersOf(&p.CR.Spec)
	if len(problems) > 0 {
		return problems
	}
	ports, volumes := containerPorts(p), OwnVolumeNames(p)
	var all problem.Collector
	all.AddAll(validation.CheckContainers(user.sidecars, user.initContainers, overridesOf(&p.CR.Spec).Volumes, volumes))
	reserve := func(at *field.Path, value any, what string) {
		all.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: at.String(), Type: field.ErrorTypeForbidden, Value: value,
			Detail: "the " + what + " is the operator's", Fix: "choose another one",
		})
	}
	user.each(func(c *corev1.Container, at *field.Path) {
		if isOwnContainer(p, c.Name) {
			reserve(at.Child("name"), c.Name, "container "+c.Name)
		}
		for i := range c.Ports {
			for _, own := range ports {
				at := at.Child("ports").Index(i)
				if c.Ports[i].ContainerPort == own.ContainerPort {
					reserve(at.Child("containerPort"), own.ContainerPort, "port")
				}
				if c.Ports[i].Name == own.Name {
					reserve(at.Child("name"), own.Name, "port "+own.Name)
				}
			}
		}
		for i := range c.VolumeMounts {
			if name := c.VolumeMounts[i].Name; slices.Contains(volumes, name) {
				reserve(at.Child("volumeMounts").Index(i).Child("name"), name, "volume "+name)
			}
		}
	})
	return all.List()
}

// UsesPort reports whether one of the user's containers declares the port.
func UsesPort(spec *v1alpha2.LlamaStackDistributionSpec, number int32) bool {
	return declaresPort(spec, func(p *corev1.ContainerPort) bool { return p.ContainerPort == number })
}

// UsesPortName reports whether one of the user's containers has a port of this name.
func UsesPortName(spec *v1alpha2.LlamaStackDistributionSpec, name string) bool {
	return declaresPort(spec, func(p *corev1.ContainerPort) bool { return p.Name == name })
}

func declaresPort(spec *v1alpha2.LlamaStackDistributionSpec, is func(*corev1.ContainerPort) bool) (found bool) {
	user, _ := userContainersOf(spec)
	user.each(func(c *corev1.Container, _ *field.Path) {
		for i := range c.Ports {
			found = found || is(&c.Ports[i])
		}
	})
	return found
}

// isOwnContainer reports whether the operator uses the name for a container, now or after another edit.
func isOwnContainer(p *Params, name string) bool {
	return name == cmp.Or(p.Legacy.ContainerName, names.ContainerName) || strings.HasPrefix(name, installerPrefix) ||
		slices.Contains([]string{trustContainer, modelCacheContainer, prepareName, checkName}, name)
}

// referencesOfContainers adds the Secrets and ConfigMaps in the environment of the user's containers.
func (r *podReferences) referencesOfContainers(spec *v1alpha2.LlamaStackDistributionSpec) {
	user, _ := userContainersOf(spec)
	user.each(func(c *corev1.Container, at *field.Path) {
		r.ofEnvironment(c.Env, c.EnvFrom, at.String())
	})
}

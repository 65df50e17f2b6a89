// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// checkForbidden reports fields that the operator's settings forbid.
func (r *report) checkForbidden(in *Inputs) {
	for _, use := range restrictedUses(in) {
		if !slices.Contains(in.Forbidden, use.restriction) {
			continue
		}
		r.Add(problem.Problem{
			Reason: problem.ForbiddenBySettings, Path: use.path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("the operator's administrator forbids %s (%s in the key %s of the ConfigMap %s)",
				use.description, use.restriction, settings.KeyForbid, settings.ConfigMapName),
			Fix: use.fix + ", or ask the administrator",
		})
	}
}

const (
	// mountsDir and sharedMemory are the mount points that hide no files of the image.
	mountsDir    = "/mnt"
	sharedMemory = "/dev/shm"

	containersOfUsers = "containers beside the server, which can run any program"

	mountsOverImage = "mounts outside of " + mountsDir + " and " + sharedMemory + ", which can replace code of the image"
)

// hidesNoImageFiles reports whether a mount hides no files of the image.
func hidesNoImageFiles(at string) bool {
	clean := path.Join("/", at) // a relative path is relative to /
	return isWithin(clean, mountsDir) || clean == sharedMemory
}

// restrictedUse is the use of a field that a restriction covers.
type restrictedUse struct {
	path             string
	restriction      settings.Restriction
	description, fix string
}

func restrictedUses(in *Inputs) []restrictedUse {
	spec := &in.CR.Spec
	const overrides = "spec.workload.overrides"
	var uses []restrictedUse
	add := func(used bool, path string, r settings.Restriction, description, fix string) {
		if used {
			uses = append(uses, restrictedUse{path, r, description, fix})
		}
	}
	if spec.Workload != nil && spec.Workload.Overrides != nil {
		o := spec.Workload.Overrides
		for i := range o.Volumes {
			add(o.Volumes[i].HostPath != nil, fmt.Sprintf("%s.volumes[%d].hostPath", overrides, i),
				settings.ForbidHostPathVolumes,
				"hostPath volumes", "use another type of volume")
		}
		add(!objects.OwnServiceAccount(spec), overrides+".serviceAccountName", settings.ForbidForeignServiceAccounts,
			"ServiceAccounts that the operator did not create", "remove it")
		add(len(o.Command) > 0, overrides+".command", settings.ForbidCommandAndArgs, "command and args", "remove it")
		add(len(o.Sidecars) > 0, overrides+".sidecars", settings.ForbidCommandAndArgs, containersOfUsers, "remove it")
		add(len(o.InitContainers) > 0, overrides+".initContainers", settings.ForbidCommandAndArgs, containersOfUsers,
			"remove it")
		add(len(o.Args) > 0, overrides+".args", settings.ForbidCommandAndArgs, "command and args", "remove it")
		for i := range o.Env {
			add(objects.SelectsCode(o.Env[i].Name), fmt.Sprintf("%s.env[%d]", overrides, i), settings.ForbidCodeVariables,
				"variables such as "+o.Env[i].Name+", which select code or the configuration of the server", "remove it")
		}
		for i := range o.EnvFrom {
			add(!in.EnvFromDefaults, fmt.Sprintf("%s.envFrom[%d]", overrides, i), settings.ForbidCodeVariables,
				"envFrom, which can set any variable", "set each variable in "+overrides+".env")
		}
		for i := range o.VolumeMounts {
			add(!hidesNoImageFiles(o.VolumeMounts[i].MountPath), fmt.Sprintf("%s.volumeMounts[%d].mountPath", overrides, i),
				settings.ForbidMountsOverImage,
				mountsOverImage, "mount it below "+mountsDir)
		}
	}
	if w := spec.Workload; w != nil && w.Storage != nil {
		at := ptr.Deref(w.Storage.MountPath, v1alpha2.DefaultMountPath)
		add(!hidesNoImageFiles(at) && path.Clean(at) != v1alpha2.DefaultMountPath, "spec.workload.storage.mountPath",
			settings.ForbidMountsOverImage,
			mountsOverImage, "remove it, or choose a path below "+mountsDir)
	}
	add(len(in.Spec.External) > 0, pathExternal, settings.ForbidExternalProviders, "external providers",
		"use a provider of the server's image, or an image that has this one")
	add(in.Spec.Expose.Enabled && len(in.Spec.Expose.Annotations) > 0, pathExpose+".annotations",
		settings.ForbidExposeAnnotations, "annotations of the edge", "remove them")
	add(in.isHostless(), pathExpose, settings.ForbidIngressWithoutHostname,
		"an Ingress or HTTPRoute without a host name", "set spec.networking.expose.hostname")
	return uses
}

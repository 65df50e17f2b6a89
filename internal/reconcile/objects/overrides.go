// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Conflict is a part that both the operator and the user's overrides set; the user's wins.
type Conflict struct {
	Path string
	// Description is "the variable X", "the volume X" or "the mount path X".
	Description string
	// Essential reports that the generated configuration or the server's files need the operator's part.
	Essential bool
}

func overridesOf(spec *v1alpha2.LlamaStackDistributionSpec) v1alpha2.WorkloadOverrides {
	if spec.Workload == nil {
		return v1alpha2.WorkloadOverrides{}
	}
	return ptr.Deref(spec.Workload.Overrides, v1alpha2.WorkloadOverrides{})
}

// Conflicts returns the parts that both the operator and the user set, except a user's mount at /tmp.
func Conflicts(p *Params) []Conflict {
	const field = "spec.workload.overrides"
	var list []Conflict
	o := overridesOf(&p.CR.Spec)
	own, generated := lastOf(environment(p)), lastOf(append(generatedEnvironment(p), externalEnvironment(p)...))
	for i := range o.Env {
		name := o.Env[i].Name
		if _, conflicts := own[name]; conflicts {
			_, essential := generated[name]
			list = append(list, Conflict{fmt.Sprintf("%s.env[%d]", field, i), "the variable " + name, essential})
		}
	}
	ownTmp := slices.ContainsFunc(o.VolumeMounts, func(m corev1.VolumeMount) bool {
		return path.Clean(m.MountPath) == names.TmpDir
	})
	ownVolumes, ownMounts := ownVolumes(p), ownMounts(p) // few, unlike the user's
	for i := range o.Volumes {
		if o.Volumes[i].Name == tmpVolume && ownTmp {
			continue
		}
		if slices.ContainsFunc(ownVolumes, func(v corev1.Volume) bool { return v.Name == o.Volumes[i].Name }) {
			list = append(list, Conflict{fmt.Sprintf("%s.volumes[%d]", field, i), "the volume " + o.Volumes[i].Name, true})
		}
	}
	for i := range o.VolumeMounts {
		at := path.Clean(o.VolumeMounts[i].MountPath)
		conflicts := slices.ContainsFunc(ownMounts, func(m corev1.VolumeMount) bool { return m.MountPath == at })
		if conflicts && at != names.TmpDir {
			list = append(list, Conflict{fmt.Sprintf("%s.volumeMounts[%d]", field, i), "the mount path " + at, true})
		}
	}
	return list
}

// DataDirConflict returns the operator's mount at the data volume's path, or a read-only one above it, or "".
func DataDirConflict(p *Params) string {
	dir := DataDir(&p.CR.Spec)
	for _, m := range ownMounts(p) {
		if m.Name != dataVolume && (m.MountPath == dir || m.ReadOnly && strings.HasPrefix(dir, m.MountPath+"/")) {
			return m.MountPath
		}
	}
	return ""
}

// OwnVolumeNames returns the names of the operator's volumes, which the user may mount at more paths.
func OwnVolumeNames(p *Params) []string {
	var volumes []string
	for _, v := range ownVolumes(p) {
		volumes = append(volumes, v.Name)
	}
	return volumes
}

// mergedEnvironment returns the operator's and the user's variables; the last one with a name wins.
func mergedEnvironment(p *Params) []corev1.EnvVar {
	user := overridesOf(&p.CR.Spec).Env
	last := lastOf(user)
	var list []corev1.EnvVar
	for _, v := range environment(p) {
		if _, replaced := last[v.Name]; !replaced {
			list = append(list, v)
		}
	}
	for i := range user {
		if last[user[i].Name] == i {
			list = append(list, user[i])
		}
	}
	return list
}

// lastOf returns the last index of each name in a list of variables.
func lastOf(list []corev1.EnvVar) map[string]int {
	last := make(map[string]int, len(list))
	for i := range list {
		last[list[i].Name] = i
	}
	return last
}

// volumes returns the operator's volumes that are still mounted, and the user's.
func volumes(p *Params) []corev1.Volume {
	mounts, user := volumeMounts(p), overridesOf(&p.CR.Spec).Volumes
	for _, c := range initContainers(p) {
		mounts = append(mounts, c.VolumeMounts...)
	}
	list := slices.DeleteFunc(ownVolumes(p), func(v corev1.Volume) bool {
		return slices.ContainsFunc(user, func(u corev1.Volume) bool { return u.Name == v.Name }) ||
			!slices.ContainsFunc(mounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
	})
	return append(list, user...)
}

// volumeMounts returns the operator's mounts, except those that the user replaces, and the user's.
func volumeMounts(p *Params) []corev1.VolumeMount {
	o := overridesOf(&p.CR.Spec)
	list := slices.DeleteFunc(ownMounts(p), func(m corev1.VolumeMount) bool {
		return slices.ContainsFunc(o.Volumes, func(u corev1.Volume) bool { return u.Name == m.Name }) ||
			slices.ContainsFunc(o.VolumeMounts, func(u corev1.VolumeMount) bool {
				return path.Clean(u.MountPath) == m.MountPath
			})
	})
	return append(list, o.VolumeMounts...)
}

// OwnServiceAccount reports whether the resource uses the operator's ServiceAccount.
func OwnServiceAccount(spec *v1alpha2.LlamaStackDistributionSpec) bool {
	return ptr.Deref(overridesOf(spec).ServiceAccountName, "") == ""
}

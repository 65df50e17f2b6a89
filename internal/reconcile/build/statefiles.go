// SPDX-License-Identifier: Apache-2.0

package build

import (
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// warnUnmountedState warns of state that a server with a PVC keeps where no volume is mounted.
func (d *Desired) warnUnmountedState(list []objects.Object) {
	at := slices.IndexFunc(list, func(o objects.Object) bool { _, ok := o.(*appsv1.Deployment); return ok })
	if at < 0 {
		return
	}
	pod := &list[at].(*appsv1.Deployment).Spec.Template.Spec
	if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && !v.PersistentVolumeClaim.ReadOnly
	}) {
		return
	}
	env, given := map[string]string{}, document.Variables{}
	for _, v := range pod.Containers[0].Env {
		env[v.Name], given[v.Name] = v.Value, true
	}
	var lost []string
	for _, f := range d.stateFiles(given) {
		if name := resolvedFile(f.Name, env); path.IsAbs(name) && !isHeld(name, pod) {
			lost = append(lost, f.Path+" ("+name+")")
		}
	}
	if len(lost) > 0 {
		d.problems.warn(problem.EphemeralState, "spec.workload.storage", "the configuration keeps state where no volume is "+
			"mounted, so it is lost with the pod: "+limits.Names(lost),
			"keep it below "+mountPath(pod)+", or set mountPath to its directory")
	}
}

// stateFiles returns the files of state of the configuration that the server reads; nil if it is not known.
func (d *Desired) stateFiles(given document.Variables) []serverconfig.StateFile {
	switch {
	case d.Config != nil:
		return d.Config.StateFiles
	case d.Override != nil && string(d.OverrideContent) != secret.OnCluster:
		// An unreadable file is reported where it is read.
		files, _ := serverconfig.StateFiles(d.OverrideContent, d.Distribution.Line, given)
		return files
	}
	return nil
}

// resolvedFile returns the name of a file with the variables of the container; "" if it has unknown ones.
func resolvedFile(name string, env map[string]string) string {
	unknown := false
	name = document.ReplaceReferences(name, func(ref document.Reference) string {
		value, set := env[ref.Name]
		if !set && ref.Operator == document.OrElse {
			value = ref.Value
		}
		unknown = unknown || value == "" || ref.Operator == document.IfSet
		return value
	})
	if unknown {
		return ""
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = path.Join("/", env["HOME"], rest)
	}
	return path.Clean(name)
}

// isHeld reports whether a file is below the mount of a volume whose content outlives the pod.
func isHeld(name string, pod *corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		if name != m.MountPath && !strings.HasPrefix(name, strings.TrimSuffix(m.MountPath, "/")+"/") {
			return false
		}
		return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == m.Name && v.EmptyDir == nil && v.ConfigMap == nil && v.Secret == nil && v.Projected == nil
		})
	})
}

// mountPath returns where the PVC for state is mounted.
func mountPath(pod *corev1.PodSpec) string {
	for _, m := range pod.Containers[0].VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name == m.Name && v.PersistentVolumeClaim != nil && !m.ReadOnly {
				return m.MountPath
			}
		}
	}
	return ""
}

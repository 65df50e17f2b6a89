// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R81 (the PVC is mounted where the registration says, unless the spec says otherwise; the resource stays
// unchanged, and an administrator's own path is not forbidden).
func TestPVCIsMountedWhereTheRegistrationSays(t *testing.T) {
	const registered = "/opt/app-root/src/.llama"
	for name, c := range map[string]struct {
		storage *v1alpha2.PVCStorageSpec
		path    string
		want    string
	}{
		"registered":              {&v1alpha2.PVCStorageSpec{}, registered, registered},
		"with a size":             {&v1alpha2.PVCStorageSpec{Size: new(resource.MustParse("1Gi"))}, registered, registered},
		"in the spec":             {&v1alpha2.PVCStorageSpec{MountPath: new("/mnt/data")}, registered, "/mnt/data"},
		"without a path anywhere": {&v1alpha2.PVCStorageSpec{}, "", v1alpha2.DefaultMountPath},
		"without a PVC":           {nil, registered, v1alpha2.DefaultMountPath},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: c.storage}
			in.Distribution.MountPath, in.Forbidden = c.path, []settings.Restriction{settings.ForbidMountsOverImage}
			before := in.CR.DeepCopy()
			pod := deployment(t, build(t, in).Objects).Spec.Template.Spec
			var mounts, homes []string
			for _, m := range pod.Containers[0].VolumeMounts {
				if m.Name == "lls-storage" && m.SubPath == "" {
					mounts = append(mounts, m.MountPath)
				}
			}
			for _, v := range pod.Containers[0].Env {
				if v.Name == "HF_HOME" {
					homes = append(homes, v.Value)
				}
			}
			if len(mounts) != 1 || mounts[0] != c.want || len(homes) != 1 || homes[0] != c.want {
				t.Errorf("mounted at %v, HF_HOME %v, want %s", mounts, homes, c.want)
			}
			if before.Spec.Workload.Storage != nil && (in.CR.Spec.Workload.Storage.MountPath == nil) != (before.Spec.Workload.Storage.MountPath == nil) {
				t.Error("the custom resource is changed")
			}
		})
	}
}

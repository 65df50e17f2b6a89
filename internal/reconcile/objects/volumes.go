// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// The variables that release 0.9 gives every server, for users' commands, arguments and images.
const (
	LegacyPortVariable    = "LLS_PORT"
	LegacyWorkersVariable = "LLS_WORKERS"
	LegacyConfigVariable  = "LLAMA_STACK_CONFIG"
)

func ownVolumes(p *Params) []corev1.Volume {
	volumes := []corev1.Volume{{Name: dataVolume, VolumeSource: dataSource(p)}}
	if p.MemoryTmp {
		volumes = append(volumes, corev1.Volume{Name: tmpVolume,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse(tmpSize)),
			}}})
	}
	if p.Config != nil {
		volumes = append(volumes, configMapVolume(configVolume, ConfigMapName(p.CR.Name, p.Config, p.ConfigFiles)))
	}
	if p.CABundle != "" {
		volumes = append(volumes, configMapVolume(caBundleVolume, names.CABundleName(p.CR.Name, p.CABundle)), trustVolumeOf())
	}
	if len(p.External) > 0 {
		volumes = append(volumes, externalVolumeOf())
	}
	if len(p.ProviderTLS) > 0 {
		volumes = append(volumes, providerTLSVolume(p.ProviderTLS))
	}
	if HasModelCache(&p.CR.Spec) {
		volumes = append(volumes, corev1.Volume{Name: ModelCacheVolume, VolumeSource: modelCacheSource(p)})
	}
	if p.ClusterCA {
		volumes = append(volumes, configMapVolume(clusterVolume, clusterCAName))
	}
	if p.Certificate != "" {
		// Mount only the keys that the server reads.
		volumes = append(volumes, corev1.Volume{Name: tlsVolume,
			VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: p.Certificate, Items: []corev1.KeyToPath{
					{Key: corev1.TLSCertKey, Path: corev1.TLSCertKey}, {Key: corev1.TLSPrivateKeyKey, Path: corev1.TLSPrivateKeyKey},
				},
			}}})
	}
	return volumes
}

func configMapVolume(volume, name string) corev1.Volume {
	return corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
	}}
}

func ownMounts(p *Params) []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{{Name: dataVolume, MountPath: DataDir(&p.CR.Spec)}}
	if p.MemoryTmp {
		mounts = append(mounts, corev1.VolumeMount{Name: tmpVolume, MountPath: names.TmpDir})
	}
	if p.StateDir != "" {
		// The server does not create the directory of its SQL database; a sub path makes the kubelet create it.
		mounts = append(mounts, corev1.VolumeMount{
			Name: dataVolume, MountPath: path.Join(DataDir(&p.CR.Spec), p.StateDir), SubPath: p.StateDir,
		})
	}
	if p.Config != nil {
		mounts = append(mounts, corev1.VolumeMount{Name: configVolume, MountPath: names.ConfigDir, ReadOnly: true})
	}
	if p.CABundle != "" {
		mounts = append(mounts,
			corev1.VolumeMount{Name: caBundleVolume, MountPath: names.CABundleDir, ReadOnly: true},
			corev1.VolumeMount{Name: trustVolume, MountPath: trustDir, ReadOnly: true})
	}
	if len(p.External) > 0 {
		mounts = append(mounts, corev1.VolumeMount{Name: externalVolume, MountPath: externalDir, ReadOnly: true})
	}
	if len(p.ProviderTLS) > 0 {
		mounts = append(mounts, corev1.VolumeMount{Name: providerTLSName, MountPath: names.ProviderTLSDir, ReadOnly: true})
	}
	if HasModelCache(&p.CR.Spec) {
		mounts = append(mounts, modelCacheMount())
	}
	if p.ClusterCA {
		mounts = append(mounts, corev1.VolumeMount{Name: clusterVolume, MountPath: serverconfig.ClusterCADir, ReadOnly: true})
	}
	if p.Certificate != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: tlsVolume, MountPath: serverconfig.TLSDir, ReadOnly: true})
	}
	return mounts
}

// MountsConfigMap reports whether the pod has a volume from the ConfigMap.
func MountsConfigMap(pod *corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.ConfigMap != nil && v.ConfigMap.Name == name ||
			v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
				return s.ConfigMap != nil && s.ConfigMap.Name == name
			})
	})
}

// MountsPVC reports whether the pod has a volume from the PVC.
func MountsPVC(pod *corev1.PodSpec, name string) bool {
	for i := range pod.Volumes {
		if c := pod.Volumes[i].PersistentVolumeClaim; c != nil && c.ClaimName == name {
			return true
		}
	}
	return false
}

// providerTLSVolume returns a volume with the keys of the Secrets and ConfigMaps, each file once.
func providerTLSVolume(refs []Reference) corev1.Volume {
	projected := &corev1.ProjectedVolumeSource{}
	seen := map[string]bool{}
	for i := range refs {
		ref, file := &refs[i], provider.CAFileName
		if ref.Kind == KindSecret {
			file = provider.ClientFileName
		}
		var items []corev1.KeyToPath
		for _, key := range ref.Keys {
			if at := file(ref.Name, key); !seen[at] {
				seen[at] = true
				items = append(items, corev1.KeyToPath{Key: key, Path: at})
			}
		}
		object := corev1.LocalObjectReference{Name: ref.Name}
		switch {
		case len(items) == 0:
		case ref.Kind == KindSecret:
			projected.Sources = append(projected.Sources, corev1.VolumeProjection{
				Secret: &corev1.SecretProjection{LocalObjectReference: object, Items: items}})
		default:
			projected.Sources = append(projected.Sources, corev1.VolumeProjection{
				ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: object, Items: items}})
		}
	}
	return corev1.Volume{Name: providerTLSName, VolumeSource: corev1.VolumeSource{Projected: projected}}
}

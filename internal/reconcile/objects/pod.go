// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

const (
	configVolume   = "user-config"
	dataVolume     = "lls-storage"
	tmpVolume      = "tmp"
	caBundleVolume = "ca-bundle"
	tlsVolume      = "server-tls"
	clusterVolume  = "cluster-ca"

	// clusterCAName is the ConfigMap with the API server's CA certificates, which Kubernetes keeps in every namespace.
	clusterCAName = "kube-root-ca.crt"

	// tmpSize bounds the memory-backed /tmp for uploads and, with some servers, the resolved configuration.
	tmpSize = "256Mi"
)

// VariableNames returns the container's variables except those of Env, which are known before its configuration.
func VariableNames(p *Params) []string {
	var variables []string
	for _, v := range environment(p) {
		variables = append(variables, v.Name)
	}
	return variables
}

// environment returns the operator's variables for the server.
func environment(p *Params) []corev1.EnvVar {
	env := []corev1.EnvVar{
		{Name: "HOME", Value: "/"},
		{Name: "HF_HOME", Value: DataDir(&p.CR.Spec)},
	}
	// OGX would use ~/.ogx, which no volume holds, and move the files of ~/.llama there.
	for _, name := range p.HomeVariables {
		env = append(env, corev1.EnvVar{Name: name, Value: DataDir(&p.CR.Spec)})
	}
	if p.StateDir != "" && !p.Overridden {
		dir := path.Join(DataDir(&p.CR.Spec), p.StateDir)
		env = append(env,
			corev1.EnvVar{Name: "SQLITE_STORE_DIR", Value: dir},
			corev1.EnvVar{Name: "FILES_STORAGE_DIR", Value: path.Join(dir, "files")},
			corev1.EnvVar{Name: "MILVUS_DB_PATH", Value: dir},
		)
	}
	for _, name := range p.PortVariables {
		env = append(env, corev1.EnvVar{Name: name, Value: strconv.Itoa(int(Port(&p.CR.Spec)))})
	}
	if p.Config != nil {
		env = append(env, corev1.EnvVar{Name: "RUN_CONFIG_PATH", Value: path.Join(names.ConfigDir, names.ConfigKey)})
	}
	if p.Legacy.FromV1alpha1 {
		env = append(env, legacyEnvironment(p)...)
	}
	env = append(env, metricsEnvironment(p)...)
	env = append(env, trustEnvironment(p)...)
	env = append(env, externalEnvironment(p)...)
	return append(env, generatedEnvironment(p)...)
}

// The variables that release 0.9 gives every server, for users' commands, arguments and images.
const (
	LegacyPortVariable    = "LLS_PORT"
	LegacyWorkersVariable = "LLS_WORKERS"
	LegacyConfigVariable  = "LLAMA_STACK_CONFIG"
)

func legacyEnvironment(p *Params) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: LegacyWorkersVariable, Value: strconv.FormatInt(workers(p.CR.Spec.Workload), 10)},
		{Name: LegacyPortVariable, Value: strconv.Itoa(int(Port(&p.CR.Spec)))},
		{Name: LegacyConfigVariable, Value: path.Join(names.ConfigDir, names.ConfigKey)},
	}
}

// generatedEnvironment returns the variables that the generated configuration needs.
func generatedEnvironment(p *Params) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, v := range p.Env {
		_, derived := p.Derived[v.Name]
		switch {
		case v.Part != "" && derived:
			env = append(env, fromSecret(v.Name, p.DerivedName, v.Name))
		case v.Part != "": // the value has no such part
		case v.Ref.Name != "":
			env = append(env, fromSecret(v.Name, v.Ref.Name, v.Ref.Key))
		default:
			env = append(env, corev1.EnvVar{Name: v.Name, Value: v.Value})
		}
	}
	return env
}

func fromSecret(variable, name, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: variable, ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key},
	}}
}

func ownVolumes(p *Params) []corev1.Volume {
	volumes := []corev1.Volume{{Name: dataVolume, VolumeSource: dataSource(p)}}
	if p.MemoryTmp {
		volumes = append(volumes, corev1.Volume{Name: tmpVolume,
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
				Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse(tmpSize)),
			}}})
	}
	if p.Config != nil {
		volumes = append(volumes, configMapVolume(configVolume, names.ConfigMapName(p.CR.Name, p.Config)))
	}
	if p.CABundle != "" {
		volumes = append(volumes, configMapVolume(caBundleVolume, names.CABundleName(p.CR.Name, p.CABundle)), trustVolumeOf())
	}
	if len(p.External) > 0 {
		volumes = append(volumes, externalVolumeOf())
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
	if p.ClusterCA {
		mounts = append(mounts, corev1.VolumeMount{Name: clusterVolume, MountPath: serverconfig.ClusterCADir, ReadOnly: true})
	}
	if p.Certificate != "" {
		mounts = append(mounts, corev1.VolumeMount{Name: tlsVolume, MountPath: serverconfig.TLSDir, ReadOnly: true})
	}
	return mounts
}

// resources returns the user's resources, by default one CPU for each worker and 1Gi, bounded by limits. It adds limits
// only for resources that cannot be overcommitted, such as GPUs.
func resources(workload *v1alpha2.WorkloadSpec) corev1.ResourceRequirements {
	r := corev1.ResourceRequirements{}
	if workload != nil && workload.Resources != nil {
		r = *workload.Resources.DeepCopy()
	}
	defaults := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(workers(workload), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("1Gi"),
	}
	for name, amount := range defaults {
		if _, requested := r.Requests[name]; requested {
			continue
		}
		if limit, limited := r.Limits[name]; limited && limit.Cmp(amount) < 0 {
			amount = limit
		}
		r.Requests = withQuantity(r.Requests, name, amount)
	}
	for name, amount := range r.Requests {
		if _, limited := r.Limits[name]; !limited && !overcommitted(name) {
			r.Limits = withQuantity(r.Limits, name, amount)
		}
	}
	return r
}

// overcommitted reports whether pods may use more of a resource than they request.
func overcommitted(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
}

// CPUForWorkers returns the CPU request for several workers, or 0 if the user sets it.
func CPUForWorkers(spec *v1alpha2.LlamaStackDistributionSpec) int64 {
	n := workers(spec.Workload)
	if n < 2 {
		return 0
	}
	if r := spec.Workload.Resources; r != nil {
		if _, requested := r.Requests[corev1.ResourceCPU]; requested {
			return 0
		}
		if limit, limited := r.Limits[corev1.ResourceCPU]; limited && limit.CmpInt64(n) < 0 {
			return 0
		}
	}
	return n
}

func workers(workload *v1alpha2.WorkloadSpec) int64 {
	if workload == nil {
		return 1
	}
	return int64(ptr.Deref(workload.Workers, 1))
}

func withQuantity(list corev1.ResourceList, name corev1.ResourceName, amount resource.Quantity) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = amount
	return list
}

// health returns the health check, by TCP if the server requires client certificates, which the kubelet lacks.
func health(p *Params) corev1.ProbeHandler {
	port := intstr.FromString(names.ServicePortName)
	if p.ClientCertificates {
		return corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: port}}
	}
	return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/v1/health", Port: port,
		Scheme: cmp.Or(p.Scheme, corev1.URISchemeHTTP)}}
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

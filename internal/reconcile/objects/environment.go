// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
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
	env = append(env, modelCacheEnvironment(p)...)
	env = append(env, p.Proxy...)
	env = append(env, metricsEnvironment(p)...)
	env = append(env, trustEnvironment(p)...)
	env = append(env, externalEnvironment(p)...)
	return append(env, generatedEnvironment(p)...)
}

const (
	configVolume   = "user-config"
	dataVolume     = "lls-storage"
	tmpVolume      = "tmp"
	caBundleVolume = "ca-bundle"
	tlsVolume      = "server-tls"
	clusterVolume  = "cluster-ca"

	providerTLSName = "provider-tls"

	// clusterCAName is the ConfigMap with the API server's CA certificates, which Kubernetes keeps in every namespace.
	clusterCAName = "kube-root-ca.crt"

	// tmpSize bounds the memory-backed /tmp for uploads and, with some servers, the resolved configuration.
	tmpSize = "256Mi"
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
		case v.FieldPath != "":
			env = append(env, corev1.EnvVar{Name: v.Name, ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: v.FieldPath},
			}})
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

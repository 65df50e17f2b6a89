// SPDX-License-Identifier: Apache-2.0

package objects

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// trustScript adds the user's CA certificates to the image's. The image's Python runs it, so it needs no shell.
//
//go:embed trust.py
var trustScript string

const (
	trustVolume    = "trust"
	trustContainer = "trust"
	trustDir       = "/etc/llama-stack-trust"
	// trustSize bounds the file: a bundle has at most 1 MiB, and an image's roots have some 300 KiB.
	trustSize = "16Mi"
)

// TrustPath is the file in the pod with all trusted CA certificates: the image's and the user's.
const TrustPath = trustDir + "/ca-certificates.crt"

// trustVariables name the file for OpenSSL, httpx and aiohttp; requests and the telemetry exporter; gRPC; boto3.
var trustVariables = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	"AWS_CA_BUNDLE"}

// trustEnvironment returns the variables that name the file, or nil without a CA bundle.
func trustEnvironment(p *Params) []corev1.EnvVar {
	if p.CABundle == "" {
		return nil
	}
	env := make([]corev1.EnvVar, 0, len(trustVariables))
	for _, name := range trustVariables {
		env = append(env, corev1.EnvVar{Name: name, Value: TrustPath})
	}
	return env
}

func trustVolumeOf() corev1.Volume {
	return corev1.Volume{Name: trustVolume, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(trustSize))},
	}}
}

func trustContainers(p *Params) []corev1.Container {
	if p.CABundle == "" {
		return nil
	}
	return []corev1.Container{{
		Name:    trustContainer,
		Image:   p.Image,
		Command: []string{"python3", "-c", trustScript, names.CABundlePath, TrustPath},
		VolumeMounts: []corev1.VolumeMount{
			{Name: caBundleVolume, MountPath: names.CABundleDir, ReadOnly: true}, {Name: trustVolume, MountPath: trustDir},
		},
		Resources: sharedResources(p),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}}
}

// sharedResources returns the server's CPU and memory for init containers, so that the pod needs no more.
func sharedResources(p *Params) corev1.ResourceRequirements {
	only := func(list corev1.ResourceList) corev1.ResourceList {
		var kept corev1.ResourceList
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if amount, given := list[name]; given {
				kept = withQuantity(kept, name, amount)
			}
		}
		return kept
	}
	own := resources(p.CR.Spec.Workload)
	return corev1.ResourceRequirements{Requests: only(own.Requests), Limits: only(own.Limits)}
}

// SPDX-License-Identifier: Apache-2.0

package objects

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// trustScript adds the CA certificates of the user to those of the image. The image's own Python runs it, so it needs
// no shell there.
//
//go:embed trust.py
var trustScript string

const (
	trustVolume    = "trust"
	trustContainer = "trust"
	trustDir       = "/etc/llama-stack-trust"
	// trustSize bounds the file: a bundle has at most 1 MiB, and the roots of an image have some 300 KiB.
	trustSize = "16Mi"
)

// TrustPath is the file in the pod with all CA certificates that the server trusts: those of the image, and those of
// the user.
const TrustPath = trustDir + "/ca-certificates.crt"

// trustVariables name the file for clients: OpenSSL, httpx and aiohttp read the first, requests and the exporter of
// telemetry the second, gRPC the third, and boto3 the last.
var trustVariables = []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
	"AWS_CA_BUNDLE"}

// trustEnvironment are the variables that name the file; none without CA certificates of the user, since clients find
// those of the image.
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

// trustContainers write the file with all CA certificates.
func trustContainers(p *Params) []corev1.Container {
	if p.CABundle == "" {
		return nil
	}
	return []corev1.Container{{
		Name:    trustContainer,
		Image:   p.Image,
		Command: []string{"python3", "-c", trustScript, CABundlePath, TrustPath},
		VolumeMounts: []corev1.VolumeMount{
			{Name: caBundleVolume, MountPath: CABundleDir, ReadOnly: true}, {Name: trustVolume, MountPath: trustDir},
		},
		Resources: sharedResources(p),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}}
}

// sharedResources are the CPU and memory of the server, which runs later: so the pod needs no more than without the
// container, keeps its quality of service, and fits a quota that demands limits.
func sharedResources(p *Params) corev1.ResourceRequirements {
	only := func(list corev1.ResourceList) corev1.ResourceList {
		var kept corev1.ResourceList
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if amount, given := list[name]; given {
				kept = with(kept, name, amount)
			}
		}
		return kept
	}
	own := resources(p.CR.Spec.Workload)
	return corev1.ResourceRequirements{Requests: only(own.Requests), Limits: only(own.Limits)}
}

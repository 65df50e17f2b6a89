// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

func initContainers(p *Params) []corev1.Container {
	return slices.Concat(trustContainers(p), modelCacheContainers(p), externalContainers(p))
}

func workloadOf(spec *v1alpha2.LlamaStackDistributionSpec) v1alpha2.WorkloadSpec {
	return ptr.Deref(spec.Workload, v1alpha2.WorkloadSpec{})
}

// withPodMetadata adds the user's labels or annotations to the operator's, which win.
func withPodMetadata(user, own map[string]string) map[string]string {
	if len(user) == 0 {
		return own
	}
	all := maps.Clone(user)
	maps.Copy(all, own)
	return all
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

func podTemplate(p *Params) corev1.PodTemplateSpec {
	annotations := map[string]string{}
	if p.Config != nil {
		annotations[names.AnnotationConfigHash] = names.ContentHash(withFiles(p.Config, p.ConfigFiles))
	}
	if p.CertificateHash != "" {
		annotations[names.AnnotationCertificateHash] = p.CertificateHash
	}
	if p.SecretsHash != "" {
		annotations[names.AnnotationSecretsHash] = p.SecretsHash
	}
	metadata := ptr.Deref(workloadOf(&p.CR.Spec).PodMetadata, v1alpha2.PodMetadataSpec{})
	user, _ := userContainersOf(&p.CR.Spec)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      withPodMetadata(metadata.Labels, names.Labels(p.CR.Name)),
			Annotations: withPodMetadata(metadata.Annotations, annotations),
		},
		Spec: corev1.PodSpec{
			ServiceAccountName:           PodServiceAccountName(p.CR),
			AutomountServiceAccountToken: automount(p),
			// Service links would inject LLAMA_STACK_PORT=tcp://... for a Service of that name, which prevents the start.
			EnableServiceLinks:        new(false),
			SecurityContext:           podSecurity(p),
			InitContainers:            append(initContainers(p), user.initContainers...),
			Containers:                append([]corev1.Container{container(p)}, user.sidecars...),
			Volumes:                   volumes(p),
			TopologySpreadConstraints: spread(p),
			Affinity:                  affinity(p),
		},
	}
	schedule(p, &template.Spec)
	return template
}

// PodServiceAccountName returns the name of the pods' ServiceAccount.
func PodServiceAccountName(cr *v1alpha2.LlamaStackDistribution) string {
	if OwnServiceAccount(&cr.Spec) {
		return names.ServiceAccountName(cr.Name)
	}
	return *cr.Spec.Workload.Overrides.ServiceAccountName
}

// automount returns false for the operator's ServiceAccount, which has no permissions; others decide themselves.
func automount(p *Params) *bool {
	if OwnServiceAccount(&p.CR.Spec) {
		return new(false)
	}
	return nil
}

func podSecurity(p *Params) *corev1.PodSecurityContext {
	context := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if !p.ClusterAssignsUserIDs {
		context.RunAsUser = ptr.To[int64](serverUserID)
		context.RunAsGroup = ptr.To[int64](serverUserID)
		context.FSGroup = ptr.To[int64](serverUserID)
	}
	return context
}

// container returns the server's container, with the image's entrypoint unless the user overrides the command.
func container(p *Params) corev1.Container {
	overrides := overridesOf(&p.CR.Spec)
	return corev1.Container{
		Name:         cmp.Or(p.Legacy.ContainerName, names.ContainerName),
		Image:        p.Image,
		Command:      overrides.Command,
		Args:         overrides.Args,
		Ports:        containerPorts(p),
		Env:          mergedEnvironment(p),
		EnvFrom:      overrides.EnvFrom,
		Resources:    resources(p.CR.Spec.Workload),
		VolumeMounts: volumeMounts(p),
		Lifecycle:    lifecycle(p),
		// The pod's status shows why the server ended, unless a release exits with code 0.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		StartupProbe: &corev1.Probe{
			ProbeHandler:     health(p),
			PeriodSeconds:    startupPeriodSeconds,
			TimeoutSeconds:   startupPeriodSeconds,
			FailureThreshold: (startupTimeout(p) + startupPeriodSeconds - 1) / startupPeriodSeconds,
		},
		// Ingestion can block the server for a while. A liveness probe would kill it during that work.
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:     health(p),
			PeriodSeconds:    10,
			TimeoutSeconds:   5,
			FailureThreshold: 6,
		},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// lifecycle returns the preStop sleep, or nil with a PVC for which the next pod waits, or a short grace period.
func lifecycle(p *Params) *corev1.Lifecycle {
	grace := workloadOf(&p.CR.Spec).TerminationGracePeriodSeconds
	if isExclusive(p) || ptr.Deref(grace, corev1.DefaultTerminationGracePeriodSeconds) < 2*drainSeconds {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drainSeconds}}}
}

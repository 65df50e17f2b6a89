// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

const (
	// startupBudgetSeconds bounds a start: first downloads take minutes, and some releases hang with a closed port.
	startupBudgetSeconds = 600
	startupPeriodSeconds = 2
	// progressDeadlineSeconds adds time to pull the image.
	progressDeadlineSeconds = startupBudgetSeconds + 300
	// drainSeconds is how long a terminating pod keeps serving, until every node removes it from the Service.
	drainSeconds = 5
	// serverUserID is the pods' non-root user if the cluster assigns none.
	serverUserID = 1001
)

// Deployment returns the Deployment that runs the server.
func Deployment(p *Params) *appsv1.Deployment {
	meta := objectMeta(p.CR, names.DeploymentName(p.CR.Name))
	meta.Annotations = map[string]string{names.AnnotationInputHash: p.InputHash, names.AnnotationBuild: p.Build}
	if p.AdoptedImage != "" {
		meta.Annotations[names.AnnotationAdoptedImage] = p.AdoptedImage
		meta.Annotations[names.AnnotationAdoptedName] = ptr.Deref(p.CR.Spec.Distribution.Name, "")
	}
	if p.ServerLine != "" {
		meta.Annotations[names.AnnotationServerLine] = p.ServerLine
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas:                appliedReplicas(p),
			Selector:                &metav1.LabelSelector{MatchLabels: names.Selector(p.CR.Name)},
			Strategy:                strategy(p),
			RevisionHistoryLimit:    ptr.To[int32](1),
			ProgressDeadlineSeconds: ptr.To[int32](progressDeadlineSeconds),
			Template:                podTemplate(p),
		},
	}
}

func podTemplate(p *Params) corev1.PodTemplateSpec {
	annotations := map[string]string{}
	if p.Config != nil {
		annotations[names.AnnotationConfigHash] = names.ContentHash(p.Config)
	}
	if p.CertificateHash != "" {
		annotations[names.AnnotationCertificateHash] = p.CertificateHash
	}
	if p.SecretsHash != "" {
		annotations[names.AnnotationSecretsHash] = p.SecretsHash
	}
	user := ptr.Deref(workloadOf(&p.CR.Spec).PodMetadata, v1alpha2.PodMetadataSpec{})
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      withPodMetadata(user.Labels, names.Labels(p.CR.Name)),
			Annotations: withPodMetadata(user.Annotations, annotations),
		},
		Spec: corev1.PodSpec{
			ServiceAccountName:           PodServiceAccountName(p.CR),
			AutomountServiceAccountToken: automount(p),
			// Service links would inject LLAMA_STACK_PORT=tcp://... for a Service of that name, which prevents the start.
			EnableServiceLinks:        new(false),
			SecurityContext:           podSecurity(p),
			InitContainers:            initContainers(p),
			Containers:                []corev1.Container{container(p)},
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
			FailureThreshold: startupBudgetSeconds / startupPeriodSeconds,
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

// lifecycle returns the preStop sleep, or nil with a PVC, for which the next pod waits, or a short grace period.
func lifecycle(p *Params) *corev1.Lifecycle {
	grace := workloadOf(&p.CR.Spec).TerminationGracePeriodSeconds
	if storageSpec(&p.CR.Spec) != nil || ptr.Deref(grace, corev1.DefaultTerminationGracePeriodSeconds) < 2*drainSeconds {
		return nil
	}
	return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: drainSeconds}}}
}

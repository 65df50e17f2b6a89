// SPDX-License-Identifier: Apache-2.0

package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Facts are the observations of a reconcile.
type Facts struct {
	// CR is the custom resource with the status that was written last.
	CR              *v1alpha2.LlamaStackDistribution
	Now             time.Time
	OperatorVersion string
	// Images are the images of known distributions by name; nil if unreadable.
	Images       map[string]string
	Distribution *settings.Distribution
	// Desired is the desired state, or nil if undecided.
	Desired     *build.Desired
	SecretCount int
	// Problems are the errors, which keep the spec from being applied, and warnings.
	Problems problem.List
	// Deployment is the Deployment after this reconcile's writes, and Before the one before them; nil if there is none.
	Deployment, Before *appsv1.Deployment
	// UndoReverted reports that an undo had put an earlier pod template back into the Deployment.
	UndoReverted      bool
	Pods              pods.Observation
	DeploymentUnknown bool
	// PVC is the resource's PVC, or nil if it does not exist or is not desired.
	PVC           *corev1.PersistentVolumeClaim
	ServiceExists bool
	Exposure      objects.Exposure
	// Callers reports whether a pod may call the server.
	Callers Callers
	// Server is the server's own report, or nil if unknown.
	Server *serverprobe.Observation
	// ServerFailure is why the server could not be probed; empty if the probe succeeded or has not run yet.
	ServerFailure string
}

// Compute returns the status for the facts.
func Compute(f *Facts) v1alpha2.LlamaStackDistributionStatus {
	s := f.CR.Status.DeepCopy()
	if f.CR.DeletionTimestamp != nil {
		s.Phase = v1alpha2.PhaseTerminating
		return *s
	}
	f = f.withoutSecrets()
	for _, set := range []func(*Facts, *v1alpha2.LlamaStackDistributionStatus){
		setResolvedDistribution,
		setConfigGeneration,
		setDistributionConfig,
		setVersion,
		setReplicas,
		setServiceURL,
		setConfigGenerated,
		setSecretsResolved,
		setDeploymentUpdated,
		setAvailable,
		setStorageReachable,
		setBackends,
		setAccessControlled,
		setReady,
		setStalled,
		setRelease09,
		setRouteURL,
		setPhase,
		setObservedGeneration,
		limit,
	} {
		set(f, s)
	}
	return *s
}

// isApplied reports whether the spec is applied.
func (f *Facts) isApplied() bool {
	return f.Desired != nil && !f.Problems.HasErrors() && !f.isRolledBack()
}

// isRolledBack reports whether the Deployment has its former pod template, since that of the spec did not start.
func (f *Facts) isRolledBack() bool {
	return f.Desired != nil && f.Desired.RolledBack != "" && f.Deployment != nil
}

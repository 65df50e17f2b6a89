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

// Facts are what a reconcile has found out about a resource.
type Facts struct {
	// CR is the resource; its status is the one that was written last.
	CR *v1alpha2.LlamaStackDistribution
	// Now is the time of the reconcile.
	Now time.Time
	// OperatorVersion is the version of the operator.
	OperatorVersion string
	// Images are the distributions that the operator knows; nil where they could not be read.
	Images map[string]string
	// Distribution is what spec.distribution resolves to; nil where it could not be resolved.
	Distribution *settings.Distribution
	// Desired is what shall exist; nil where that could not be decided.
	Desired *build.Desired
	// SecretCount is the number of secret references.
	SecretCount int
	// Problems are what is wrong: errors keep the spec from being applied.
	Problems problem.List
	// Deployment is the resource's Deployment; nil where there is none.
	Deployment *appsv1.Deployment
	// Pods is what the pods of the Deployment report.
	Pods pods.Observation
	// DeploymentUnknown is true where the Deployment could not be read.
	DeploymentUnknown bool
	// PVC is the resource's PVC; nil where there is none, or none is desired.
	Claim *corev1.PersistentVolumeClaim
	// ServiceThere reports whether the resource's Service exists.
	ServiceThere bool
	// Exposure is what is known of the way in from outside of the cluster; empty where there is none.
	Exposure objects.Exposure
	// Server is what the running server says about itself; nil where that is not known.
	Server *serverprobe.Observation
	// ServerSilent reports why the server could not be asked; empty where it could, or was not asked yet.
	ServerSilent string
}

// Compute returns the status that the facts amount to.
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

// inForce reports whether nothing kept the spec from being applied.
func (f *Facts) inForce() bool { return f.Desired != nil && !f.Problems.HasErrors() }

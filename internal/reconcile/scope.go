// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// scope holds the facts of one reconcile as they become known.
type scope struct {
	key types.NamespacedName
	cr  *v1alpha2.LlamaStackDistribution

	// Set by gather.
	gathered *gather.Gathered
	// postponed ends the reconcile early: a registry request is pending, or other large custom resources are being built.
	postponed bool
	// Set by build if gather found no errors.
	desired *build.Desired
	// Set by apply if build found no errors.
	applied *apply.Result
	// readLive makes gather read live what the caches lack; apply sets restart to repeat the steps with it.
	readLive, restart bool
	// requeueAfter is the requeue delay; zero means none.
	requeueAfter time.Duration
	// Set by observe.
	deployment    *appsv1.Deployment
	pods          pods.Observation
	server        *serverprobe.Observation
	serverFailure string
	// serverPending reports that the server is being probed for the first time since this operator started.
	serverPending bool
	pvc           *corev1.PersistentVolumeClaim
	service       *corev1.Service
	exposure      objects.Exposure
	callers       status.Callers

	// stale reports that the status was not written because of a conflict.
	stale bool

	// problems has the errors and warnings; nothing is applied after an error.
	problems problem.List
}

func (s *scope) fail(p *problem.Problem) {
	if p != nil {
		s.problems = append(s.problems, *p)
	}
}

// requeueBy shortens the requeue delay.
func (s *scope) requeueBy(delay time.Duration) {
	if s.requeueAfter == 0 || delay < s.requeueAfter {
		s.requeueAfter = delay
	}
}

// nextReconcile returns the delay until the next reconcile, or zero if none is due.
func (s *scope) nextReconcile(now time.Time) time.Duration {
	if s.desired == nil || s.desired.RequeueAt.IsZero() {
		return s.requeueAfter
	}
	// A certificate is still valid at the moment itself, so wait a second longer.
	recheck := max(s.desired.RequeueAt.Sub(now)+time.Second, time.Second)
	if s.requeueAfter > 0 {
		return min(s.requeueAfter, recheck)
	}
	return recheck
}

// desiredObjects returns the desired objects: applied ones and held ones.
func (s *scope) desiredObjects() []objects.Object {
	return append(append([]objects.Object{}, s.desired.Objects...), s.desired.Held...)
}

// canBuild reports whether the resource can be built: it has no error, or only an unresolved distribution.
func (s *scope) canBuild() bool {
	errs := s.problems.Errors()
	return len(errs) == 0 || s.gathered.Inputs.Unresolved && len(errs) == 1 &&
		strings.HasPrefix(errs[0].Path, "spec.distribution")
}

// distribution returns the resolved spec.distribution, or nil.
func (s *scope) distribution() *settings.Distribution {
	if s.desired != nil && s.desired.Distribution != nil {
		return s.desired.Distribution
	}
	return s.gathered.Inputs.Distribution
}

func (s *scope) facts(operatorVersion string) *status.Facts {
	f := &status.Facts{
		CR: s.cr, Now: time.Now().Truncate(time.Second), OperatorVersion: operatorVersion,
		Desired: s.desired, Problems: s.problems, Deployment: s.deployment, Pods: s.pods, Server: s.server,
		ServerFailure: s.serverFailure,
		PVC:           s.pvc, ServiceExists: s.service != nil, Exposure: s.exposure, Callers: s.callers,
	}
	if s.gathered == nil {
		return f
	}
	f.Distribution = s.distribution()
	f.Before, f.UndoReverted = s.gathered.Inputs.Live, s.applied != nil && s.applied.UndoReverted
	f.SecretCount = s.gathered.Inputs.SecretCount()
	f.DeploymentUnknown = s.gathered.DeploymentUnknown
	if s.gathered.Settings != nil {
		f.Images = s.gathered.Settings.Images()
	}
	return f
}

// failing returns the conditions of a server that should run and does not work.
func failing(conditions []metav1.Condition) (list []string) {
	for _, kind := range []string{v1alpha2.ConditionAvailable, v1alpha2.ConditionStorageReachable} {
		c := meta.FindStatusCondition(conditions, kind)
		if c != nil && c.Status == metav1.ConditionFalse &&
			slices.Contains([]string{v1alpha2.ReasonServerUnavailable, v1alpha2.ReasonStorageUnreachable}, c.Reason) {
			list = append(list, kind)
		}
	}
	return list
}

// recordMetrics records the custom resource in the metrics, and a rollout if the pod template changed.
func (r *Reconciler) recordMetrics(s *scope) {
	line := metrics.Unknown
	if resolved := s.cr.Status.ResolvedDistribution; resolved != nil {
		line = resolved.ServerLine
	}
	r.metrics.Report(s.key, string(s.cr.Status.Phase), line, s.problems, failing(s.cr.Status.Conditions)...)
	if s.applied == nil || s.applied.Deployment == nil {
		return
	}
	live := s.gathered.Inputs.Live
	if live == nil || !equality.Semantic.DeepEqual(live.Spec.Template, s.applied.Deployment.Spec.Template) {
		r.metrics.Rollout()
	}
}

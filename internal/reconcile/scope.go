// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// scope holds the facts of one pass as they become known.
type scope struct {
	// Set when the reconcile begins.
	key types.NamespacedName
	cr  *v1alpha2.LlamaStackDistribution

	// Set by gather.
	gathered *gather.Gathered
	// postponed ends the reconcile: a registry is being asked, or other large custom resources are being built.
	postponed bool
	// Set by build, where gather found no errors.
	desired *build.Desired
	// Set by apply, where build found no errors.
	applied *apply.Result
	// lookUp makes gather ask the API server for what the caches do not have, also for a new custom resource. Apply sets
	// startOver when an object exists that was to be created for one: the steps begin anew, with lookUp.
	lookUp, startOver bool
	// again is when the next step of a switchover is due; zero where none is.
	again time.Duration
	// Set by observe.
	deployment   *appsv1.Deployment
	pods         pods.Observation
	server       *serverprobe.Observation
	serverSilent string
	// serverPending reports that the server is being asked and has not answered, nor failed to, since this operator
	// started.
	serverPending bool
	claim         *corev1.PersistentVolumeClaim
	service       *corev1.Service
	exposure      objects.Exposure

	// stale reports that the status was not written: somebody else wrote the custom resource in between.
	stale bool

	// problems are what is wrong; after an error nothing is applied.
	problems problem.List
}

func (s *scope) fail(p *problem.Problem) {
	if p != nil {
		s.problems = append(s.problems, *p)
	}
}

// next is how long to wait for the next pass; zero where none is due.
func (s *scope) next(now time.Time) time.Duration {
	if s.desired == nil || s.desired.Recheck.IsZero() {
		return s.again
	}
	// Not before the moment itself, to which a certificate counts.
	recheck := max(s.desired.Recheck.Sub(now)+time.Second, time.Second)
	if s.again > 0 {
		return min(s.again, recheck)
	}
	return recheck
}

// desiredObjects are the objects that shall exist: those that were applied and those that were left alone.
func (s *scope) desiredObjects() []objects.Object {
	return append(append([]objects.Object{}, s.desired.Objects...), s.desired.Held...)
}

// canBuild reports whether the rest of the resource can be built: nothing is wrong so far, or only that its
// distribution is not known.
func (s *scope) canBuild() bool {
	errs := s.problems.Errors()
	return len(errs) == 0 || s.gathered.Inputs.Unresolved && len(errs) == 1 &&
		strings.HasPrefix(errs[0].Path, "spec.distribution")
}

// distribution is what spec.distribution resolves to; nil where it could not be resolved.
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
		ServerSilent: s.serverSilent,
		Claim:        s.claim, ServiceThere: s.service != nil, Exposure: s.exposure,
	}
	if s.gathered == nil {
		return f
	}
	f.Distribution = s.distribution()
	f.SecretCount = s.gathered.Inputs.SecretCount()
	f.DeploymentUnknown = s.gathered.DeploymentUnknown
	if s.gathered.Settings != nil {
		f.Images = s.gathered.Settings.Images()
	}
	return f
}

// count notes for the metrics what is reported of the custom resource, and whether its pods get a new template.
func (r *Reconciler) count(s *scope) {
	line := metrics.Unknown
	if resolved := s.cr.Status.ResolvedDistribution; resolved != nil {
		line = resolved.ServerLine
	}
	r.metrics.Report(s.key, string(s.cr.Status.Phase), line, s.problems)
	if s.applied == nil || s.applied.Deployment == nil {
		return
	}
	live := s.gathered.Inputs.Live
	if live == nil || !equality.Semantic.DeepEqual(live.Spec.Template, s.applied.Deployment.Spec.Template) {
		r.metrics.Rollout()
	}
}

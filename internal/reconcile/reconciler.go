// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	record "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/adopt"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/events"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe/prober"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
)

const (
	// conflictDelay is the requeue delay after a write conflict, for the cache to catch up.
	conflictDelay = 200 * time.Millisecond
	// foreignDelay is the polling interval for a foreign object that blocks a name; the operator does not watch it.
	foreignDelay = 30 * time.Second
	// largeDelay is the requeue delay of a large custom resource while others are built.
	largeDelay = 500 * time.Millisecond
	// labelsPendingDelay is how long the status waits for a registry before it reports the request as pending.
	labelsPendingDelay = 3 * time.Second
)

// Reconciler reconciles LlamaStackDistributions.
type Reconciler struct {
	client    client.Client
	live      client.Reader
	gatherer  *gather.Gatherer
	applier   *apply.Applier
	adopter   *adopt.Adopter
	prober    *prober.Prober
	serverURL func(*v1alpha2.LlamaStackDistribution, *corev1.Service, corev1.URIScheme) (url, why string)
	recorder  record.EventRecorder
	// large bounds the workers that build large custom resources, so that small ones always find a worker.
	large         *semaphore.Weighted
	settings      *gather.SettingsStore
	watchEndpoint map[parse.EndpointKind]func()
	watchClaims   func()
	metrics       *metrics.Metrics
	queue         workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// controller-gen reads these markers only if a blank line follows them.
// +kubebuilder:rbac:groups=llamastack.io,resources=llamastackdistributions,verbs=list;watch
// +kubebuilder:rbac:groups=llamastack.io,resources=llamastackdistributions/status,verbs=patch
// +kubebuilder:rbac:groups=llamastack.io,resources=llamastackdistributions/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses;networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes/custom-host,verbs=create;update
// +kubebuilder:rbac:groups=config.openshift.io,resources=imagedigestmirrorsets;imagetagmirrorsets,verbs=list;watch
// +kubebuilder:rbac:groups=operator.openshift.io,resources=imagecontentsourcepolicies,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get
// +kubebuilder:rbac:groups=serving.kserve.io,resources=inferenceservices;llminferenceservices,verbs=get;list;watch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;delete
// +kubebuilder:rbac:groups="",resources=configmaps;secrets,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=serviceaccounts;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile reconciles one custom resource.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	s := &scope{key: req.NamespacedName, cr: &v1alpha2.LlamaStackDistribution{}}
	defer func() {
		if value := recover(); value != nil {
			result, err = r.reportPanic(ctx, s, value)
		}
	}()
	tree := gather.NewTree()
	if err = r.client.Get(ctx, req.NamespacedName, tree); err == nil {
		err = gather.Decode(tree, s.cr)
	}
	var undecodable *gather.UndecodableError
	switch {
	case apierrors.IsNotFound(err):
		r.prober.Forget(req.NamespacedName)
		r.gatherer.Labels.Forget(req.NamespacedName)
		r.metrics.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	case errors.As(err, &undecodable):
		s.fail(problem.New(problem.Problem{
			Reason: problem.InvalidField, Path: "spec", Type: field.ErrorTypeInvalid,
			Detail: fmt.Sprintf("a value has the wrong type: %v", undecodable.Err), Fix: "correct the value", Err: err,
		}))
	case err != nil:
		return ctrl.Result{}, err
	}
	if s.cr.DeletionTimestamp != nil {
		return r.report(ctx, s)
	}
	steps := []step{
		{metrics.StepGather, r.gather}, {metrics.StepBuild, r.build}, {metrics.StepApply, r.apply}, {"", r.restoreOwner},
		{metrics.StepPrune, r.prune}, {metrics.StepObserve, r.observe}, {"", r.rollBack},
	}
	for i := 0; i < len(steps); i++ {
		r.runStep(ctx, s, steps[i])
		if s.postponed {
			return ctrl.Result{RequeueAfter: s.requeueAfter}, nil
		}
		if s.restart { // once
			*s, i = scope{key: s.key, cr: s.cr, readLive: true}, -1
		}
	}
	return r.report(ctx, s)
}

// step is a part of a reconcile; a step without a name is not timed.
type step struct {
	name string
	do   func(context.Context, *scope)
}

func (r *Reconciler) runStep(ctx context.Context, s *scope, part step) {
	began, known := time.Now(), len(s.problems)
	part.do(ctx, s)
	if part.name != "" && !s.postponed {
		r.metrics.Step(part.name, began, s.problems[min(known, len(s.problems)):])
	}
}

func (r *Reconciler) gather(ctx context.Context, s *scope) {
	read := r.gatherer.Gather
	if s.readLive {
		read = r.gatherer.GatherLive
	}
	var problems problem.List
	s.gathered, problems = read(ctx, s.cr)
	if since := s.gathered.LabelsPending; !since.IsZero() && time.Since(since) < labelsPendingDelay {
		s.postponed, s.requeueAfter = true, labelsPendingDelay
	}
	r.watchEndpoints(s)
	if !s.problems.HasErrors() { // other problems of an unreadable spec mean nothing
		s.problems = append(s.problems, problems...)
	}
}

// build computes the desired objects. It postpones a large custom resource while other workers build large ones.
func (r *Reconciler) build(ctx context.Context, s *scope) {
	if !s.canBuild() {
		return
	}
	if build.IsLarge(s.gathered.Inputs) {
		if s.postponed = !r.large.TryAcquire(1); s.postponed {
			s.requeueAfter = largeDelay
			return
		}
		defer r.large.Release(1)
	}
	desired, problems := build.Build(ctx, s.gathered.Inputs)
	s.problems = append(s.problems, problems...)
	if !s.gathered.Inputs.Unresolved {
		s.desired = desired
	}
}

func (r *Reconciler) apply(ctx context.Context, s *scope) {
	if s.problems.HasErrors() {
		return
	}
	if p := r.adopter.Adopt(ctx, s.cr, s.gathered.Inputs.Live, s.desiredObjects()); p != nil {
		s.fail(p)
		return
	}
	list, requeueAfter, p := r.adopter.Switchover(ctx, s.cr, s.gathered.Inputs.Live, s.desired.Objects)
	if p != nil {
		s.fail(p)
		return
	}
	s.requeueAfter = cmp.Or(requeueAfter, s.requeueAfter)
	result, p := r.applier.Apply(ctx, s.cr, list)
	if result.NameTaken {
		if s.restart = gather.IsNew(s.cr) && !s.readLive; s.restart {
			return
		}
		if p = r.adopter.AdoptExisting(ctx, s.cr, s.gathered.Inputs.Live, s.desiredObjects()); p == nil {
			result, p = r.applier.Apply(ctx, s.cr, list)
		}
	}
	s.applied = result
	s.fail(p)
	if p != nil && result.NameTaken && !apply.WasApplied(s.cr) && s.gathered.Inputs.Live == nil {
		s.applied = nil
		s.fail(r.applier.RemoveCreated(ctx, s.cr, list))
	}
}

// restoreOwner restores the owner of objects of release 0.9 after an error, so that deleting the resource deletes them.
func (r *Reconciler) restoreOwner(ctx context.Context, s *scope) {
	if !s.problems.HasErrors() || s.gathered == nil {
		return
	}
	s.fail(r.adopter.RestoreOwner(ctx, s.cr, s.gathered.Inputs.Live))
}

func (r *Reconciler) prune(ctx context.Context, s *scope) {
	if s.problems.HasErrors() {
		return
	}
	if p := r.applier.Prune(ctx, s.cr, s.desiredObjects()); p != nil {
		s.fail(p)
		return
	}
	s.fail(r.adopter.Prune(ctx, s.cr))
}

// observe reads the Deployment, its pods and, after the rollout, the server's own report.
func (r *Reconciler) observe(ctx context.Context, s *scope) {
	r.observeServer(ctx, s)
	s.deployment = cmp.Or(s.gathered.Inputs.Live, s.gathered.ForeignDeployment)
	if s.applied != nil && s.applied.Deployment != nil {
		s.deployment = s.applied.Deployment
	}
	r.observePods(ctx, s)
	if s.desired == nil || s.problems.HasErrors() || s.service == nil || !status.RolledOut(s.deployment) ||
		s.pods.OtherSecrets || s.desired.RolledBack != "" {
		return // an ending pod has other Secrets; the event of its end starts the next reconcile
	}
	url, failure := r.serverURL(s.cr, s.service, s.desired.Scheme())
	if url == "" {
		s.serverFailure = failure
		return
	}
	at := serverprobe.Server{URL: url, Trust: trust(s.desired.Certificate),
		Lists: status.Lists(s.desired, s.distribution()), Stores: status.Stores(s.desired, s.distribution())}
	//nolint:contextcheck // probing outlives the reconcile
	s.server, s.serverFailure = r.prober.Observe(s.cr, s.deployment, s.pods.Existing,
		at)
	s.serverPending = s.server == nil && s.serverFailure == ""
}

// trust returns what verifies the server's certificate, or nil without a known certificate.
func trust(c *build.ServerCertificate) *serverprobe.Trust {
	if c == nil {
		return nil
	}
	return &serverprobe.Trust{Host: c.Host, Leaf: c.Leaf, CA: c.CA}
}

// observeServer reads the Service, PVC and exposure for the status. It ignores read errors, which apply reports.
func (r *Reconciler) observeServer(ctx context.Context, s *scope) {
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: s.cr.Namespace, Name: name} }
	if s.applied != nil { // the cache may lag behind
		s.service, s.pvc = s.applied.Service, s.applied.PVC
	}
	service, pvc := &corev1.Service{}, &corev1.PersistentVolumeClaim{}
	if s.service == nil && r.client.Get(ctx, key(names.ServiceName(s.cr.Name)), service) == nil {
		s.service = service
	}
	if w := s.cr.Spec.Workload; w == nil || w.Storage == nil {
		s.pvc = nil
	} else if claim := s.gathered.Inputs.Claim; claim != nil {
		s.pvc = claim.PVC
	} else if s.pvc == nil && r.client.Get(ctx, key(names.PVCName(s.cr.Name)), pvc) == nil {
		s.pvc = pvc
	}
	r.observeEdge(ctx, s)
	r.observeCallers(ctx, s)
}

// observePods reads the pods from the cache; if that fails, the status relies on the Deployment alone.
func (r *Reconciler) observePods(ctx context.Context, s *scope) {
	if s.deployment == nil {
		return
	}
	var list corev1.PodList
	selector := names.NewPodsSelector(s.cr.Name)
	if !names.HasNewPods(&s.deployment.Spec.Template) {
		selector = names.Selector(s.cr.Name)
	}
	if r.client.List(ctx, &list, client.InNamespace(s.cr.Namespace), client.MatchingLabels(selector),
		client.MatchingFields{apply.InstanceIndex: s.cr.Name}) != nil {
		return
	}
	var known *pods.Secrets
	if s.desired != nil {
		known = &pods.Secrets{Hash: s.desired.SecretsHash, Values: s.desired.SecretValues}
	}
	s.pods = pods.Observe(list.Items, cmp.Or(s.gathered.Inputs.Legacy.ContainerName, names.ContainerName), known)
}

// report writes the status if it changed.
func (r *Reconciler) report(ctx context.Context, s *scope) (ctrl.Result, error) {
	log := logf.FromContext(ctx)
	before := s.cr.Status.DeepCopy()
	s.cr.Status = status.Compute(s.facts(version.Version()))
	r.recordMetrics(s)
	// The pending probe of the server starts the next reconcile; the status stays as it is until then.
	changed := !equality.Semantic.DeepEqual(before, &s.cr.Status) && (!s.serverPending || s.problems.HasErrors())
	if changed {
		err := r.writeStatus(ctx, before, s.cr)
		switch {
		case apierrors.IsConflict(err):
			s.stale = true
			return ctrl.Result{RequeueAfter: conflictDelay}, nil
		case apierrors.IsNotFound(err):
			return ctrl.Result{}, nil
		case apply.TooLarge(err): // retrying the same status does not help
			return ctrl.Result{}, reconcile.TerminalError(err)
		case err != nil:
			return ctrl.Result{}, err
		}
		r.recordEvents(ctx, s, before.Conditions)
		ready := ptr.Deref(meta.FindStatusCondition(s.cr.Status.Conditions, v1alpha2.ConditionReady), metav1.Condition{})
		log.Info("status changed", "generation", s.cr.Generation, "phase", s.cr.Status.Phase, "available",
			s.cr.Status.AvailableReplicas,
			"ready", ready.Status, "reason", ready.Reason, "message", limits.Message(ready.Message))
	}
	if s.applied != nil && s.applied.Changed > 0 {
		log.Info("objects written", "count", s.applied.Changed, "generation", s.cr.Generation)
	}
	if err := s.problems.Retry(); err != nil {
		return ctrl.Result{}, err
	}
	if s.problems.Polled() {
		return ctrl.Result{RequeueAfter: foreignDelay}, nil
	}
	return ctrl.Result{RequeueAfter: s.nextReconcile(time.Now())}, nil
}

// recordEvents records an Event for each changed condition, and logs new warnings.
func (r *Reconciler) recordEvents(ctx context.Context, s *scope, before []metav1.Condition) {
	warnings := s.problems.Warnings()
	for _, e := range events.ForChanges(before, s.cr.Status.Conditions, len(warnings) > 0) {
		r.recorder.Eventf(s.cr, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
		if e.Type != corev1.EventTypeWarning || e.Action != v1alpha2.ConditionConfigGenerated {
			continue
		}
		for _, text := range warnings.Texts() {
			logf.FromContext(ctx).Info("warning", "generation", s.cr.Generation, "message", limits.Message(text))
		}
	}
}

// writeStatus patches the status without the spec, to save memory. Go's types may not decode the response.
func (r *Reconciler) writeStatus(ctx context.Context, before *v1alpha2.LlamaStackDistributionStatus,
	cr *v1alpha2.LlamaStackDistribution) error {
	identity := metav1.ObjectMeta{Namespace: cr.Namespace, Name: cr.Name, ResourceVersion: cr.ResourceVersion}
	patch := client.MergeFromWithOptions(&v1alpha2.LlamaStackDistribution{ObjectMeta: identity, Status: *before},
		client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(&v1alpha2.LlamaStackDistribution{ObjectMeta: identity, Status: cr.Status})
	if err != nil {
		return err
	}
	target := apply.MetadataOf(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	target.SetNamespace(cr.Namespace)
	target.SetName(cr.Name)
	return r.client.Status().Patch(ctx, target, client.RawPatch(patch.Type(), data))
}

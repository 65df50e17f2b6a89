// SPDX-License-Identifier: Apache-2.0

package firstrollout

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

const (
	// maxRollouts bounds the custom resources of which a rollout is remembered, each some 20 KiB, and rolloutTime for how long.
	maxRollouts = 500
	rolloutTime = 10 * time.Minute
	// unseenDelay is when a reconcile is repeated that took an object which the caches have not shown yet for one that is about to come.
	unseenDelay = 5 * time.Second
)

// Built is what was built and created for a new custom resource. It holds values of Secrets.
type Built struct {
	Gathered   *gather.Gathered
	Desired    *desired.Desired
	Warnings   problem.List
	Deployment *appsv1.Deployment
}

// Memory are the first rollouts of several custom resources.
type Memory struct {
	// Client and Applier read from the caches.
	Client  client.Reader
	Applier *apply.Applier
	// OperatorNamespace has the operator's settings.
	OperatorNamespace string
	// Defaults are what the operator's settings refer to.
	Defaults *gather.Defaults

	mu  sync.Mutex
	all map[types.NamespacedName]*rollout
}

// rollout is one of them.
type rollout struct {
	uid        types.UID
	generation int64
	annotation string
	until      time.Time
	versions   Versions
	// built lacks the objects and the text of the configuration: most of the memory, and nothing reports them.
	built *Built
	// deployment is the metadata of the Deployment as it was created.
	deployment metav1.ObjectMeta
	// others are the objects beside the Deployment that were created: empty, but for their names. Those of them that the caches have shown are seen.
	others []objects.Object
	seen   map[objects.Object]bool
}

// Versions are those of the Secrets and ConfigMaps that a custom resource refers to, and of the operator's settings and registered distributions, as the caches
// have them; nil where they cannot be known.
type Versions map[referred]string

// referred is a Secret or ConfigMap.
type referred struct {
	kind string
	types.NamespacedName
}

// kindRegistrations stands for all ConfigMaps of a namespace that register distributions.
const kindRegistrations = "registrations"

func referredBy(ref *objects.Reference) referred {
	return referred{ref.Kind, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
}

// Begin notes the versions of what a new custom resource refers to, before that is read; nil for any other.
func (m *Memory) Begin(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) Versions {
	if cr.Status.Phase != "" {
		return nil
	}
	references := []referred{
		{objects.KindConfigMap, types.NamespacedName{Namespace: m.OperatorNamespace, Name: settings.ConfigMapName}},
		{kindRegistrations, types.NamespacedName{Namespace: m.OperatorNamespace}},
	}
	for _, ref := range append(desired.References(cr), m.Defaults.In(cr.Namespace)...) {
		references = append(references, referredBy(&ref))
	}
	return m.versions(ctx, references)
}

// Keep remembers what was built for a new custom resource, all of which has just been created. It does not where an object was read whose version nobody
// noted before: the operator's settings have been read for the first time, or are others since.
func (m *Memory) Keep(cr *v1alpha2.LlamaStackDistribution, versions Versions, b *Built) {
	for i := range b.Gathered.Inputs.PodReferences {
		ref := &b.Gathered.Inputs.PodReferences[i].Ref
		if _, noted := versions[referredBy(ref)]; !noted {
			return
		}
	}
	r := &rollout{
		uid: cr.UID, generation: cr.Generation, annotation: cr.Annotations[v1alpha2.ConversionAnnotation], until: time.Now().Add(rolloutTime),
		versions: versions, seen: map[objects.Object]bool{}, deployment: b.Deployment.ObjectMeta,
	}
	r.deployment.ManagedFields = nil
	kept, built, gathered, inputs := *b, *b.Desired, *b.Gathered, *b.Gathered.Inputs
	kept.Deployment, built.Objects = nil, nil
	if built.Config != nil {
		config := *built.Config
		config.YAML, built.Config = nil, &config
	}
	inputs.CR, gathered.Inputs = nil, &inputs // Recall has the custom resource anew
	kept.Gathered, kept.Desired, r.built = &gathered, &built, &kept
	for _, o := range b.Desired.Objects {
		if _, is := o.(*appsv1.Deployment); !is {
			r.others = append(r.others, apply.Named(o))
		}
	}
	m.put(client.ObjectKeyFromObject(cr), r)
}

// Recall returns what was built, where nothing has changed since but the status of the Deployment and of pods; nil otherwise. again is when to come
// back at the latest because an object is not in the caches yet; zero where all are.
func (m *Memory) Recall(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (b *Built, again time.Duration) {
	key := client.ObjectKeyFromObject(cr)
	r := m.get(key)
	if r == nil {
		return nil, 0
	}
	live, named := &appsv1.Deployment{}, types.NamespacedName{Namespace: r.deployment.Namespace, Name: r.deployment.Name}
	recheck := r.built.Desired.Recheck
	same := r.uid == cr.UID && r.generation == cr.Generation && r.annotation == cr.Annotations[v1alpha2.ConversionAnnotation] &&
		time.Now().Before(r.until) && (recheck.IsZero() || time.Now().Before(recheck)) &&
		maps.Equal(r.versions, m.versions(ctx, slices.Collect(maps.Keys(r.versions)))) &&
		m.Client.Get(ctx, named, live) == nil && isSameButStatus(&r.deployment, &live.ObjectMeta)
	if same {
		same, again = m.othersAreThere(ctx, cr, r)
	}
	if !same {
		m.Forget(key)
		return nil, 0
	}
	recalled, gathered, inputs := *r.built, *r.built.Gathered, *r.built.Gathered.Inputs
	inputs.CR, inputs.Live = cr, live
	gathered.Inputs = &inputs
	recalled.Gathered = &gathered
	return &recalled, again
}

// isSameButStatus reports whether a Deployment differs from what it was only in its status, and in what its controller notes.
func isSameButStatus(before, now *metav1.ObjectMeta) bool {
	annotations := maps.Clone(now.Annotations)
	delete(annotations, "deployment.kubernetes.io/revision")
	return before.UID == now.UID && before.Generation == now.Generation && now.DeletionTimestamp == nil &&
		maps.Equal(before.Labels, now.Labels) && maps.Equal(before.Annotations, annotations) &&
		slices.EqualFunc(before.OwnerReferences, now.OwnerReferences, func(a, b metav1.OwnerReference) bool { return a.UID == b.UID })
}

// othersAreThere reports whether the caches show the other objects as they were created, and when to look again for those that they do not show yet.
func (m *Memory) othersAreThere(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, r *rollout) (there bool, again time.Duration) {
	for _, o := range r.others {
		switch is, err := m.Applier.IsAsWritten(ctx, cr, o); {
		case is:
			r.seen[o] = true
		case apierrors.IsNotFound(err) && !r.seen[o]:
			again = unseenDelay
		default:
			return false, 0
		}
	}
	return true, again
}

func (m *Memory) versions(ctx context.Context, references []referred) Versions {
	versions := Versions{}
	for _, ref := range references {
		if ref.kind == kindRegistrations {
			list, err := gather.ListRegistrations(ctx, m.Applier.Cached, ref.Namespace)
			if err != nil {
				return nil
			}
			versions[ref] = ""
			for i := range list {
				versions[ref] += string(list[i].UID) + " " + list[i].ResourceVersion + "\n"
			}
			continue
		}
		metadata := apply.MetadataOf(corev1.SchemeGroupVersion.WithKind(ref.kind))
		err := m.Applier.Cached.Get(ctx, ref.NamespacedName, metadata)
		if client.IgnoreNotFound(err) != nil {
			return nil
		}
		versions[ref] = metadata.ResourceVersion
	}
	return versions
}

func (m *Memory) get(key types.NamespacedName) *rollout {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key]
}

func (m *Memory) put(key types.NamespacedName, r *rollout) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) >= maxRollouts {
		return
	}
	if m.all == nil {
		m.all = map[types.NamespacedName]*rollout{}
	}
	m.all[key] = r
}

// Forget drops what was built for a custom resource: its server runs, it has changed, or it is gone.
func (m *Memory) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// SettingsStore has the parsed settings and registered distributions. It has its own informer and outlives managers.
type SettingsStore struct {
	// metadata is cache, or another reader in tests.
	metadata, live client.Reader
	cache          cache.Cache
	namespace      string

	parsing sync.Mutex
	last    atomic.Pointer[parsedSettings]
}

// parsedSettings are the settings of one state of the ConfigMaps.
type parsedSettings struct {
	version       version
	registrations map[string]parsedRegistration // by ConfigMap name
	settings      *settings.Settings
	err           error
}

type parsedRegistration struct {
	version version
	// parsed is nil if the ConfigMap is foreign, or was deleted: then an event follows.
	parsed *settings.Registered
	// foreign reports that the ConfigMap does not register a distribution.
	foreign bool
	// size is the configuration's memory in bytes; at least that if refused for its size.
	size    int
	refused bool
}

type version struct {
	uid      types.UID
	resource string
}

func versionOf(o metav1.Object) version { return version{o.GetUID(), o.GetResourceVersion()} }

// NewSettingsStore returns a store that sends no request before Start.
func NewSettingsStore(ctx context.Context, config *rest.Config, operatorNamespace string) (*SettingsStore, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "ConfigMapList"} { // a cache maps a list by the list's own kind
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	live, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("read the operator's settings: %w", err)
	}
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultTransform: stripToIdentityAndLabels,
		DefaultNamespaces: map[string]cache.Config{operatorNamespace: {}},
	})
	if err == nil {
		_, err = c.GetInformer(ctx, metadataOf("ConfigMap"),
			cache.BlockUntilSynced(false)) // starts with the cache, not with the first read
	}
	if err != nil {
		return nil, fmt.Errorf("watch the operator's settings: %w", err)
	}
	return &SettingsStore{metadata: c, live: live, cache: c, namespace: operatorNamespace}, nil
}

// NewSettingsStoreOf returns a store with another reader, for tests. It cannot be started or watched.
func NewSettingsStoreOf(reader client.Reader, operatorNamespace string) *SettingsStore {
	return &SettingsStore{metadata: reader, live: reader, namespace: operatorNamespace}
}

// stripToIdentityAndLabels drops unused metadata; an annotation of kubectl may hold the whole ConfigMap.
func stripToIdentityAndLabels(in any) (any, error) {
	if o, ok := in.(*metav1.PartialObjectMetadata); ok {
		o.ManagedFields, o.Annotations, o.OwnerReferences, o.Finalizers = nil, nil, nil, nil
	}
	return in, nil
}

// Start runs the cache until the context ends.
func (s *SettingsStore) Start(ctx context.Context) error { return s.cache.Start(ctx) }

// Watch calls changed with each ConfigMap of settings that changed, in its old and new version, until the context ends.
func (s *SettingsStore) Watch(ctx context.Context, changed func(client.Object)) error {
	informer, err := s.cache.GetInformer(ctx, metadataOf("ConfigMap"), cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the operator's settings: %w", err)
	}
	report := func(objects ...any) {
		for _, o := range objects {
			if deleted, is := o.(toolscache.DeletedFinalStateUnknown); is {
				o = deleted.Obj
			}
			if cm, is := o.(client.Object); is && isSettings(cm) {
				changed(cm)
			}
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { report(o) }, UpdateFunc: func(before, after any) { report(before, after) },
		DeleteFunc: func(o any) { report(o) },
	})
	if err != nil {
		return fmt.Errorf("watch the operator's settings: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) }) // the store outlives the manager
	return nil
}

// isSettings reports whether a ConfigMap has the operator's settings or registers a distribution.
func isSettings(o client.Object) bool {
	_, registers := o.GetLabels()[settings.LabelDistribution]
	return registers || o.GetName() == settings.ConfigMapName
}

// Current returns the settings that were parsed last, or nil.
func (s *SettingsStore) Current() *settings.Settings {
	if s == nil {
		return nil
	}
	if last := s.last.Load(); last != nil {
		return last.settings
	}
	return nil
}

// settings returns the operator's settings and registered distributions; the settings' ConfigMap is optional.
func (g *Gatherer) settings(ctx context.Context) (*settings.Settings, *problem.Problem) {
	if g.Store == nil {
		return NewSettingsStoreOf(g.Live, g.OperatorNamespace).read(ctx, g.Live)
	}
	return g.Store.read(ctx, g.Store.metadata)
}

// settingsLive is settings with live metadata.
func (g *Gatherer) settingsLive(ctx context.Context) (*settings.Settings, *problem.Problem) {
	if g.Store == nil {
		return g.settings(ctx)
	}
	return g.Store.read(ctx, g.Store.live)
}

// Settings returns the problems of the operator's settings and of registered distributions with their bases.
func (g *Gatherer) Settings(ctx context.Context) ([]settings.Problem, *problem.Problem) {
	s, p := g.settings(ctx)
	if p != nil {
		return nil, p
	}
	return append(s.Problems(), s.BaseProblems(ctx)...), nil
}

// read parses the ConfigMaps if their metadata changed since the last parse.
func (s *SettingsStore) read(ctx context.Context, metadata client.Reader) (*settings.Settings, *problem.Problem) {
	key := types.NamespacedName{Namespace: s.namespace, Name: settings.ConfigMapName}
	own, list := metadataOf("ConfigMap"), &metav1.PartialObjectMetadataList{}
	if err := metadata.Get(ctx, key, own); err != nil && !apierrors.IsNotFound(err) {
		return nil, settingsReadFailed("ConfigMap "+key.String(), err)
	}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	registering := "ConfigMaps with the label " + settings.LabelDistribution + " in namespace " + s.namespace
	if err := metadata.List(ctx, list, client.InNamespace(s.namespace), client.HasLabels{settings.LabelDistribution},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, settingsReadFailed(registering, err)
	}
	parsed, err := s.parsed(ctx, own, list.Items)
	if err != nil {
		return nil, settingsReadFailed("ConfigMap "+key.String()+", or one of the "+registering+",", err)
	}
	if parsed.err != nil {
		return nil, problem.New(problem.Problem{
			Reason: problem.InvalidOperatorSettings, Path: "operator settings", Type: field.ErrorTypeInvalid,
			Detail: parsed.err.Error(),
			Fix:    "correct the ConfigMap " + key.String(), Err: parsed.err,
		})
	}
	return parsed.settings, nil
}

func (p *parsedSettings) isOf(own *metav1.PartialObjectMetadata, registering []metav1.PartialObjectMetadata) bool {
	if p == nil || p.version != versionOf(own) || len(p.registrations) != len(registering) {
		return false
	}
	for i := range registering {
		if p.registrations[registering[i].Name].version != versionOf(&registering[i]) {
			return false
		}
	}
	return true
}

// parsed returns the settings of these ConfigMaps, and reads only changed ones. An event follows a deletion meanwhile.
func (s *SettingsStore) parsed(ctx context.Context, own *metav1.PartialObjectMetadata,
	registering []metav1.PartialObjectMetadata) (*parsedSettings, error) {
	if last := s.last.Load(); last.isOf(own, registering) {
		return last, nil
	}
	s.parsing.Lock() // parsing takes far more memory than the result
	defer s.parsing.Unlock()
	last := s.last.Load()
	if last.isOf(own, registering) { // another reader parsed them
		return last, nil
	}
	if last == nil {
		last = &parsedSettings{}
	}
	slices.SortFunc(registering, func(a, b metav1.PartialObjectMetadata) int { return strings.Compare(a.Name, b.Name) })
	next := &parsedSettings{registrations: map[string]parsedRegistration{}}
	var registered []*settings.Registered
	budget, foreign := limits.RegisteredBytes, 0
	for i := range registering {
		r, err := s.register(ctx, &registering[i], i-foreign, budget, last.registrations[registering[i].Name])
		if err != nil {
			return nil, err
		}
		if r.foreign {
			foreign++
		}
		next.registrations[registering[i].Name] = r
		if r.parsed != nil {
			registered = append(registered, r.parsed)
		}
		if !r.refused {
			budget -= r.size
		}
	}
	cm := &corev1.ConfigMap{}
	if err := s.live.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: settings.ConfigMapName},
		cm); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	next.version = versionOf(cm)
	next.settings, next.err = settings.Parse(cm.Data, registered...)
	s.last.Store(next)
	return next, nil
}

// register parses a ConfigMap's registration, within limits.Registrations and the remaining bytes.
func (s *SettingsStore) register(ctx context.Context, o *metav1.PartialObjectMetadata, index, budget int,
	last parsedRegistration) (parsedRegistration, error) {
	switch {
	case last.version == versionOf(o) && last.foreign:
		return last, nil
	case index >= limits.Registrations:
		return parsedRegistration{version: versionOf(o), refused: true,
			parsed: settings.RefuseRegistration(o.Name, o.Labels[settings.LabelDistribution])}, nil
	case last.version == versionOf(o) && last.parsed != nil &&
		last.refused == (last.size > budget): // the last decision about its size still holds
		return last, nil
	}
	cm := &corev1.ConfigMap{}
	if err := s.live.Get(ctx, client.ObjectKeyFromObject(o), cm); err != nil {
		return parsedRegistration{}, client.IgnoreNotFound(err)
	}
	if !settings.IsRegistration(cm) {
		return parsedRegistration{version: versionOf(cm), foreign: true}, nil
	}
	size := budget + 1
	if settings.RegistrationFits(cm, budget) {
		parsed := settings.ParseRegistration(cm)
		if size = parsed.Size(); size <= budget {
			return parsedRegistration{version: versionOf(cm), parsed: parsed, size: size}, nil
		}
	}
	return parsedRegistration{version: versionOf(cm), size: size, refused: true,
		parsed: settings.RefuseLargeRegistration(cm.Name, cm.Labels[settings.LabelDistribution])}, nil
}

func settingsReadFailed(description string, err error) *problem.Problem {
	return lookupFailed(v1alpha2.ConditionConfigGenerated, "operator settings", description, err)
}

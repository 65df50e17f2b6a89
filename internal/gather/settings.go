// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"maps"
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
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// SettingsStore has the operator's settings and the registered distributions, parsed once for the controller, the webhooks and the report.
// It is filled by an informer of its own, so it serves before any manager runs, and across managers.
type SettingsStore struct {
	// reader is cache, or, in tests, another one.
	reader    client.Reader
	cache     cache.Cache
	namespace string

	parsing sync.Mutex
	last    atomic.Pointer[parsedSettings]
}

// parsedSettings are the settings of one state of the ConfigMaps.
type parsedSettings struct {
	version       version
	registrations map[string]parsedRegistration // by the name of the ConfigMap
	settings      *settings.Settings
	err           error
}

type parsedRegistration struct {
	version version
	parsed  *settings.Registered
	// size is how many bytes of memory the configuration takes; zero if it is refused.
	size int
}

// version is which object was read, and in which state.
type version struct {
	uid      types.UID
	resource string
}

func versionOf(o metav1.Object) version { return version{o.GetUID(), o.GetResourceVersion()} }

// NewSettingsStore returns a store that asks the API server nothing before it is started.
func NewSettingsStore(ctx context.Context, config *rest.Config, operatorNamespace string) (*SettingsStore, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "ConfigMapList"} { // a cache looks a list up by the list's own kind
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultTransform: onlySettings,
		DefaultNamespaces: map[string]cache.Config{operatorNamespace: {}},
	})
	if err == nil {
		_, err = c.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false)) // with the start, not with the first read
	}
	if err != nil {
		return nil, fmt.Errorf("watch the operator's settings: %w", err)
	}
	return &SettingsStore{reader: c, cache: c, namespace: operatorNamespace}, nil
}

// NewSettingsStoreOf returns a store that reads by another reader, for tests. It cannot be started or watched.
func NewSettingsStoreOf(reader client.Reader, operatorNamespace string) *SettingsStore {
	return &SettingsStore{reader: reader, namespace: operatorNamespace}
}

// onlySettings drops the content of ConfigMaps that are neither the operator's settings nor register a distribution.
func onlySettings(in any) (any, error) {
	cm, ok := in.(*corev1.ConfigMap)
	if !ok {
		return in, nil
	}
	cm.ManagedFields = nil
	if _, registers := cm.Labels[settings.LabelDistribution]; !registers && cm.Name != settings.ConfigMapName {
		cm.Data, cm.BinaryData, cm.Annotations = nil, nil, nil
	}
	return cm, nil
}

// Start fills the store until the context ends.
func (s *SettingsStore) Start(ctx context.Context) error { return s.cache.Start(ctx) }

// NeedLeaderElection is part of manager.LeaderElectionRunnable.
func (*SettingsStore) NeedLeaderElection() bool { return false }

// Watch calls changed for each ConfigMap with settings that comes, changes or goes, before and after, until the context ends. Read has the change then.
func (s *SettingsStore) Watch(ctx context.Context, changed func(client.Object)) error {
	informer, err := s.cache.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch the operator's settings: %w", err)
	}
	report := func(objects ...any) {
		for _, o := range objects {
			if gone, is := o.(toolscache.DeletedFinalStateUnknown); is {
				o = gone.Obj
			}
			if cm, is := o.(*corev1.ConfigMap); is && isSettings(cm) {
				changed(cm)
			}
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { report(o) }, UpdateFunc: func(before, after any) { report(before, after) }, DeleteFunc: func(o any) { report(o) },
	})
	if err != nil {
		return fmt.Errorf("watch the operator's settings: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = informer.RemoveEventHandler(registration) }) // the store outlives the manager
	return nil
}

// isSettings reports whether a ConfigMap of the operator's namespace has its settings or registers a distribution.
func isSettings(o client.Object) bool {
	_, registers := o.GetLabels()[settings.LabelDistribution]
	return registers || o.GetName() == settings.ConfigMapName
}

// Current returns the settings that were parsed last; nil if there are none.
func (s *SettingsStore) Current() *settings.Settings {
	if s == nil {
		return nil
	}
	if last := s.last.Load(); last != nil {
		return last.settings
	}
	return nil
}

// settings reads the operator's settings, which need not exist, and the registered distributions.
func (g *Gatherer) settings(ctx context.Context) (*settings.Settings, *problem.Problem) {
	if g.Store == nil {
		return (&SettingsStore{namespace: g.OperatorNamespace}).read(ctx, g.Live)
	}
	return g.Store.read(ctx, g.Store.reader)
}

// settingsLive reads them as the API server has them.
func (g *Gatherer) settingsLive(ctx context.Context) (*settings.Settings, *problem.Problem) {
	if g.Store == nil {
		return g.settings(ctx)
	}
	return g.Store.read(ctx, g.Live)
}

// Settings returns what is wrong with the operator's settings and with the registered distributions, if they can be read.
func (g *Gatherer) Settings(ctx context.Context) ([]settings.Problem, *problem.Problem) {
	s, p := g.settings(ctx)
	if p != nil {
		return nil, p
	}
	return s.Problems(), nil
}

// read reads and parses the ConfigMaps, if they are others than those that were parsed last.
func (s *SettingsStore) read(ctx context.Context, from client.Reader) (*settings.Settings, *problem.Problem) {
	key := types.NamespacedName{Namespace: s.namespace, Name: settings.ConfigMapName}
	own, list := &corev1.ConfigMap{}, &corev1.ConfigMapList{}
	if err := from.Get(ctx, key, own); err != nil && !apierrors.IsNotFound(err) {
		return nil, settingsUnread("ConfigMap "+key.String(), err)
	}
	if err := from.List(ctx, list, client.InNamespace(s.namespace), client.HasLabels{settings.LabelDistribution}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, settingsUnread("ConfigMaps with the label "+settings.LabelDistribution+" in namespace "+s.namespace, err)
	}
	parsed := s.parsed(own, list.Items)
	if parsed.err != nil {
		return nil, problem.New(problem.Problem{
			Reason: problem.InvalidOperatorSettings, Path: "operator settings", Type: field.ErrorTypeInvalid, Detail: parsed.err.Error(),
			Fix: "correct the ConfigMap " + key.String(), Err: parsed.err,
		})
	}
	return parsed.settings, nil
}

// parsed returns the settings of these ConfigMaps. Registrations that have not changed are not parsed again.
func (s *SettingsStore) parsed(own *corev1.ConfigMap, registering []corev1.ConfigMap) *parsedSettings {
	versions := map[string]version{}
	for i := range registering {
		versions[registering[i].Name] = versionOf(&registering[i])
	}
	same := func(last *parsedSettings) bool {
		return last != nil && last.version == versionOf(own) &&
			maps.EqualFunc(last.registrations, versions, func(r parsedRegistration, v version) bool { return r.version == v })
	}
	if last := s.last.Load(); same(last) {
		return last
	}
	s.parsing.Lock()
	defer s.parsing.Unlock()
	last := s.last.Load()
	if same(last) { // by another reader
		return last
	}
	if last == nil {
		last = &parsedSettings{}
	}
	next := &parsedSettings{version: versionOf(own), registrations: map[string]parsedRegistration{}}
	slices.SortFunc(registering, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
	var registered []*settings.Registered
	room := bounds.RegisteredBytes
	for i := range registering {
		r := register(&registering[i], i, room, last.registrations[registering[i].Name])
		room -= r.size
		next.registrations[registering[i].Name] = r
		registered = append(registered, r.parsed)
	}
	next.settings, next.err = settings.Parse(own.Data, registered...)
	s.last.Store(next)
	return next
}

// register parses what a ConfigMap registers, the one at this place by name, if so many bytes are enough. The first of them count.
func register(cm *corev1.ConfigMap, place, room int, last parsedRegistration) parsedRegistration {
	name := cm.Labels[settings.LabelDistribution]
	switch {
	case place >= bounds.Registrations:
		return parsedRegistration{versionOf(cm), settings.RefuseRegistration(cm.Name, name), 0}
	case last.version == versionOf(cm) && last.size > 0 && last.size <= room:
		return last
	case settings.RegistrationFits(cm, room):
		if parsed := settings.ParseRegistration(cm); parsed.Size() <= room {
			return parsedRegistration{versionOf(cm), parsed, parsed.Size()}
		}
	}
	return parsedRegistration{versionOf(cm), settings.RefuseLargeRegistration(cm.Name, name), 0}
}

func settingsUnread(what string, err error) *problem.Problem {
	return lookupFailed(v1alpha2.ConditionConfigGenerated, "operator settings", what, err)
}

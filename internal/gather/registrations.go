// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// Registrations remembers what ConfigMaps register, parsed once for all Gatherers of the process. Use NewRegistrations.
type Registrations struct {
	// turn is taken by who reads and parses one: meanwhile, that takes far more memory than what is kept.
	turn chan struct{}

	mu    sync.Mutex
	known map[string]parsedRegistration // by the name of the ConfigMap
}

// NewRegistrations returns one that knows nothing.
func NewRegistrations() *Registrations {
	return &Registrations{turn: make(chan struct{}, 1), known: map[string]parsedRegistration{}}
}

type parsedRegistration struct {
	version version
	parsed  *settings.Registered
	// size is how many bytes of memory its configuration takes; of one that is refused for that, at least.
	size int
}

// find returns what is known of a ConfigMap in this state where there is room for so many bytes: also that it does not fit.
func (r *Registrations) find(o metav1.Object, room int) (*parsedRegistration, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.known[o.GetName()]
	return &p, ok && (p.version == versionOf(o) && p.size <= room || p.version == refused(o) && p.size > room)
}

func (r *Registrations) keep(name string, p parsedRegistration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[name] = p
}

// oneTooMany returns what stands for a ConfigMap that is not read.
func (r *Registrations) oneTooMany(o metav1.Object) parsedRegistration {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.known[o.GetName()]
	if !ok || p.version != notRead(o) {
		p = parsedRegistration{notRead(o), settings.RefuseRegistration(o.GetName(), o.GetLabels()[settings.LabelDistribution]), 0}
		r.known[o.GetName()] = p
	}
	return p
}

// forget drops what is not among those that there are.
func (r *Registrations) forget(found map[string]parsedRegistration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(name string, _ parsedRegistration) bool { _, ok := found[name]; return !ok })
}

// get returns what a ConfigMap registers, and reads and parses it where that is not known; nil for one that is gone, or that registers nothing any more: an
// event follows.
func (r *Registrations) get(ctx context.Context, live client.Reader, o *metav1.PartialObjectMetadata, room int) (*parsedRegistration, error) {
	if p, ok := r.find(o, room); ok {
		return p, nil
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p, ok := r.find(o, room); ok { // by who had the turn before
		return p, nil
	}
	cm := &corev1.ConfigMap{}
	if err := live.Get(ctx, client.ObjectKeyFromObject(o), cm); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	name, labeled := cm.Labels[settings.LabelDistribution]
	if !labeled {
		return nil, nil
	}
	if p, ok := r.find(cm, room); ok { // the metadata was older
		return p, nil
	}
	var p parsedRegistration
	if settings.RegistrationFits(cm, room) {
		parsed := settings.ParseRegistration(cm)
		p = parsedRegistration{versionOf(cm), parsed, parsed.Size()}
	}
	if p.parsed == nil || p.size > room {
		p = parsedRegistration{refused(cm), settings.RefuseLargeRegistration(cm.Name, name), room + 1}
	}
	r.keep(cm.Name, p)
	return &p, nil
}

// registrations are the distributions that ConfigMaps of their own register, by the name of the ConfigMap. The metadata says which there are; each is read and
// parsed when it has changed. The first of them by name count, as many as there is room for.
func (g settingsReader) registrations(ctx context.Context, metadata client.Reader) (map[string]parsedRegistration, *problem.Problem) {
	failed := func(err error) *problem.Problem {
		return settingsUnread("ConfigMaps with the label "+settings.LabelDistribution+" in namespace "+g.OperatorNamespace, err)
	}
	list, err := ListRegistrations(ctx, metadata, g.OperatorNamespace)
	if err != nil {
		return nil, failed(err)
	}
	memory := g.registrationMemory()
	found := make(map[string]parsedRegistration, len(list))
	room := bounds.RegisteredBytes
	for i := range list {
		o := &list[i]
		if i >= bounds.Registrations {
			found[o.Name] = memory.oneTooMany(o)
			continue
		}
		switch p, err := memory.get(ctx, g.Live, o, room); {
		case err != nil:
			return nil, failed(err)
		case p != nil:
			found[o.Name] = *p
			if p.size <= room {
				room -= p.size
			}
		}
	}
	memory.forget(found)
	return found, nil
}

// registrationMemory is what all Gatherers share, or the Gatherer's own.
func (g settingsReader) registrationMemory() *Registrations {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Registrations == nil {
		g.Registrations = NewRegistrations()
	}
	return g.Registrations
}

// ListRegistrations lists the ConfigMaps that register distributions, by name. They may be a cache's own and must not be changed.
func ListRegistrations(ctx context.Context, metadata client.Reader, operatorNamespace string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := metadata.List(ctx, list, client.InNamespace(operatorNamespace), client.HasLabels{settings.LabelDistribution}, client.UnsafeDisableDeepCopy)
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// registrationsPage is how many ConfigMaps that register distributions are read at once: each can have a megabyte.
const registrationsPage = 10

type parsedRegistration struct {
	version version
	parsed  *settings.Registered
	// values is how many values its configuration has, also of one that is refused for that.
	values int
}

// registrations collects those that ConfigMaps of their own register, in the order of their names.
type registrations struct {
	found  map[string]parsedRegistration
	values int
}

// add adds a registration where it fits, and reports whether it does.
func (r *registrations) add(name string, p parsedRegistration) bool {
	if r.values+p.values > bounds.RegisteredValues {
		return false
	}
	r.put(name, p)
	r.values += p.values
	return true
}

func (r *registrations) put(name string, p parsedRegistration) {
	if r.found == nil {
		r.found = map[string]parsedRegistration{}
	}
	r.found[name] = p
}

// addParsed adds what a ConfigMap registers, and where that does not fit, what stands for it.
func (r *registrations) addParsed(cm *corev1.ConfigMap, p parsedRegistration) {
	if !r.add(cm.Name, p) {
		large := settings.RefuseLargeRegistration(cm.Name, cm.Labels[settings.LabelDistribution])
		r.put(cm.Name, parsedRegistration{refused(cm), large, p.values})
	}
}

// registrations are the distributions that ConfigMaps of their own register, each parsed again only when it has changed.
func (g settingsReader) registrations(ctx context.Context, from client.Reader) (map[string]parsedRegistration, *problem.Problem) {
	var found map[string]parsedRegistration
	var err error
	if g.Cached != nil && from == g.Live {
		found, err = g.registrationsByMetadata(ctx)
	} else {
		found, err = g.registrationsByContent(ctx, from)
	}
	if err != nil {
		return nil, settingsUnread("ConfigMaps with the label "+settings.LabelDistribution+" in namespace "+g.OperatorNamespace, err)
	}
	return found, nil
}

// registrationsByMetadata asks the cache which ConfigMaps there are, and the API server for those that it does not know yet.
func (g settingsReader) registrationsByMetadata(ctx context.Context) (map[string]parsedRegistration, error) {
	list, err := ListRegistrations(ctx, g.Cached, g.OperatorNamespace)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var all registrations
	for i := range list {
		o := &list[i]
		if i >= bounds.Registrations {
			name := o.Labels[settings.LabelDistribution]
			all.put(o.Name, g.registration(o.Name, refused(o), func() *settings.Registered { return settings.RefuseRegistration(o.Name, name) }))
			continue
		}
		if known, ok := g.knownRegistration(o.Name, versionOf(o)); ok && all.add(o.Name, known) {
			continue
		}
		if known, ok := g.knownRegistration(o.Name, refused(o)); ok && all.values+known.values > bounds.RegisteredValues {
			all.put(o.Name, known)
			continue
		}
		cm := &corev1.ConfigMap{}
		err := g.Live.Get(ctx, client.ObjectKeyFromObject(o), cm)
		switch _, labeled := cm.Labels[settings.LabelDistribution]; {
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		case err == nil && labeled: // else an event follows
			all.addParsed(cm, g.registration(cm.Name, versionOf(cm), func() *settings.Registered { return settings.ParseRegistration(cm) }))
		}
	}
	return all.found, nil
}

// ListRegistrations lists the ConfigMaps that register distributions, by name. They are the cache's own and must not be changed.
func ListRegistrations(ctx context.Context, cached client.Reader, operatorNamespace string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := cached.List(ctx, list, client.InNamespace(operatorNamespace), client.HasLabels{settings.LabelDistribution}, client.UnsafeDisableDeepCopy)
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, err
}

// registrationsByContent lists the ConfigMaps themselves, in pages where that is a request.
func (g settingsReader) registrationsByContent(ctx context.Context, from client.Reader) (map[string]parsedRegistration, error) {
	options := []client.ListOption{client.InNamespace(g.OperatorNamespace), client.HasLabels{settings.LabelDistribution}, client.UnsafeDisableDeepCopy}
	if from == g.Live {
		options = append(options, client.Limit(registrationsPage))
	}
	var all registrations
	for next := ""; ; {
		list := &corev1.ConfigMapList{}
		if err := from.List(ctx, list, append(options, client.Continue(next))...); err != nil {
			return nil, err
		}
		slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
		for i := range list.Items {
			cm := &list.Items[i]
			if len(all.found) >= bounds.Registrations {
				all.put(cm.Name, g.registration(cm.Name, refused(cm), func() *settings.Registered {
					return settings.RefuseRegistration(cm.Name, cm.Labels[settings.LabelDistribution])
				}))
				continue
			}
			all.addParsed(cm, g.registration(cm.Name, versionOf(cm), func() *settings.Registered { return settings.ParseRegistration(cm) }))
		}
		// A cache gives everything at once, with a token that it does not take.
		if next = list.Continue; next == "" || from != g.Live {
			return all.found, nil
		}
	}
}

func (g settingsReader) knownRegistration(configMap string, v version) (parsedRegistration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	known, ok := g.parsed.registrations[configMap]
	return known, ok && known.version == v
}

// registration is what is known of a ConfigMap in this version, or what comes of parsing it.
func (g settingsReader) registration(configMap string, v version, parse func() *settings.Registered) parsedRegistration {
	if known, ok := g.knownRegistration(configMap, v); ok {
		return known
	}
	parsed := parse()
	return parsedRegistration{v, parsed, parsed.Values()}
}

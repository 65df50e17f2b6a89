// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// registrationsPage is how many ConfigMaps that register distributions are read at once: each can have a megabyte.
const registrationsPage = 10

// version is which object was read, and in which state.
type version struct {
	uid      types.UID
	resource string
}

func versionOf(o metav1.Object) version { return version{o.GetUID(), o.GetResourceVersion()} }

// refused is the version of an object that is not read, so that it is when there are fewer.
func refused(o metav1.Object) version {
	return version{o.GetUID(), o.GetResourceVersion() + " refused"}
}

// parsedSettings spares parsing the operator's ConfigMap, and those that register distributions, again while they have not changed.
type parsedSettings struct {
	version       version
	registrations map[string]parsedRegistration // by the name of the ConfigMap
	settings      *settings.Settings
	err           error
}

type parsedRegistration struct {
	version version
	parsed  *settings.Registered
}

// Settings returns what is wrong with the operator's settings and with the registered distributions, where they can be read.
func (g *Gatherer) Settings(ctx context.Context) ([]settings.Problem, *problem.Problem) {
	s, p := g.settings(ctx, g.Live)
	if p != nil {
		return nil, p
	}
	return s.Problems(), nil
}

func (g *Gatherer) settings(ctx context.Context, from client.Reader) (*settings.Settings, *problem.Problem) {
	return settingsReader{g}.read(ctx, from)
}

// settingsReader reads the settings for a Gatherer.
type settingsReader struct{ *Gatherer }

// read reads the operator's ConfigMap, which need not exist, and those that register distributions. What was parsed last serves where the cache says that
// it is still so: a change is an event that reconciles those whom it concerns.
func (g settingsReader) read(ctx context.Context, from client.Reader) (*settings.Settings, *problem.Problem) {
	registered, p := g.registrations(ctx, from)
	if p != nil {
		return nil, p
	}
	key := types.NamespacedName{Namespace: g.OperatorNamespace, Name: settings.ConfigMapName}
	if known := g.knownSettings(ctx, key, from, registered); known != nil {
		return known, nil
	}
	var cm corev1.ConfigMap
	if err := from.Get(ctx, key, &cm); err != nil && !apierrors.IsNotFound(err) {
		return nil, settingsUnread("ConfigMap "+key.String(), err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := &g.parsed; p.settings == nil && p.err == nil || p.version != versionOf(&cm) || !maps.Equal(p.registrations, registered) {
		*p = parsedSettings{version: versionOf(&cm), registrations: registered}
		var own []*settings.Registered
		for _, name := range slices.Sorted(maps.Keys(registered)) {
			own = append(own, registered[name].parsed)
		}
		if p.settings, p.err = settings.Parse(cm.Data, own...); p.err == nil {
			g.Defaults.Set(p.settings.PodDefaults)
		}
	}
	if err := g.parsed.err; err != nil {
		return nil, problem.New(problem.Problem{
			Reason: problem.InvalidOperatorSettings, Path: "operator settings", Type: field.ErrorTypeInvalid, Detail: err.Error(),
			Fix: "correct the ConfigMap " + key.String(), Err: err,
		})
	}
	return g.parsed.settings, nil
}

func settingsUnread(what string, err error) *problem.Problem {
	return lookupFailed(v1alpha2.ConditionConfigGenerated, "operator settings", what, err)
}

// knownSettings returns the settings where the metadata in the cache says that they are those that were parsed last; nil where it does not.
func (g settingsReader) knownSettings(
	ctx context.Context, key types.NamespacedName, from client.Reader, registered map[string]parsedRegistration,
) *settings.Settings {
	if g.Cached == nil || from != g.Live {
		return nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	err := g.Cached.Get(ctx, key, metadata)
	if client.IgnoreNotFound(err) != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := &g.parsed; p.err == nil && p.version == versionOf(metadata) && maps.Equal(p.registrations, registered) {
		return p.settings
	}
	return nil
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
	found := make(map[string]parsedRegistration, len(list))
	for i := range list {
		o := &list[i]
		name := o.Labels[settings.LabelDistribution]
		if i >= bounds.Registrations {
			found[o.Name] = g.registration(o.Name, refused(o), func() *settings.Registered { return settings.RefuseRegistration(o.Name, name) })
			continue
		}
		if known, ok := g.knownRegistration(o.Name, versionOf(o)); ok {
			found[o.Name] = known
			continue
		}
		cm := &corev1.ConfigMap{}
		err := g.Live.Get(ctx, client.ObjectKeyFromObject(o), cm)
		switch _, labeled := cm.Labels[settings.LabelDistribution]; {
		case err != nil && !apierrors.IsNotFound(err):
			return nil, err
		case err == nil && labeled: // else an event follows
			found[o.Name] = g.registration(cm.Name, versionOf(cm), func() *settings.Registered { return settings.ParseRegistration(cm) })
		}
	}
	return found, nil
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
	var found map[string]parsedRegistration
	for next := ""; ; {
		list := &corev1.ConfigMapList{}
		if err := from.List(ctx, list, append(options, client.Continue(next))...); err != nil {
			return nil, err
		}
		slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return strings.Compare(a.Name, b.Name) })
		for i := range list.Items {
			cm := &list.Items[i]
			if found == nil {
				found = map[string]parsedRegistration{}
			}
			v, parse := versionOf(cm), func() *settings.Registered { return settings.ParseRegistration(cm) }
			if len(found) >= bounds.Registrations {
				v, parse = refused(cm), func() *settings.Registered {
					return settings.RefuseRegistration(cm.Name, cm.Labels[settings.LabelDistribution])
				}
			}
			found[cm.Name] = g.registration(cm.Name, v, parse)
		}
		if next = list.Continue; next == "" {
			return found, nil
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
	return parsedRegistration{v, parse()}
}

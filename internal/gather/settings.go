// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// version is which object was read, and in which state.
type version struct {
	uid      types.UID
	resource string
}

func versionOf(o metav1.Object) version { return version{o.GetUID(), o.GetResourceVersion()} }

// refused is the version of an object that does not fit beside others, and notRead that of one too many.
func refused(o metav1.Object) version {
	return version{o.GetUID(), o.GetResourceVersion() + " refused"}
}

func notRead(o metav1.Object) version {
	return version{o.GetUID(), o.GetResourceVersion() + " not read"}
}

// parsedSettings spares parsing the operator's ConfigMap, and those that register distributions, again while they have not changed.
type parsedSettings struct {
	version       version
	registrations map[string]parsedRegistration // by the name of the ConfigMap
	settings      *settings.Settings
	err           error
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
	metadata := from
	if g.Cached != nil && from == g.Live {
		metadata = g.Cached
	}
	registered, p := g.registrations(ctx, metadata)
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
	metadata := metadataOf("ConfigMap")
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

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// references reads what the resource refers to. What could not be asked stays nil.
func (g *Gatherer) references(ctx context.Context, in *build.Inputs, problems *problem.Collector) {
	o := &once{bounded: bounded{live: g.Live}, secrets: map[types.NamespacedName]*corev1.Secret{},
		configMaps: map[types.NamespacedName]*corev1.ConfigMap{}}
	var f *problem.Problem
	in.Secrets, f = g.secrets(ctx, in, o)
	problems.AddFound(f)
	in.Override, f = g.override(ctx, in, o)
	problems.AddFound(f)
	in.CABundle, f = g.caBundle(ctx, in, o)
	problems.AddFound(f)
	service, f := g.platformBundle(ctx, types.NamespacedName{Namespace: in.CR.Namespace, Name: build.ServiceBundle}, o)
	in.ServiceCA = build.CertificatesIn(service)
	problems.AddFound(f)
	in.Certificate, f = certificate(ctx, in.CR, o)
	problems.AddFound(f)
	problems.AddFound(podReferences(ctx, in, o))
}

// once reads each Secret and each ConfigMap once in a reconcile, so that all who refer to one see the same.
type once struct {
	bounded
	secrets    map[types.NamespacedName]*corev1.Secret
	configMaps map[types.NamespacedName]*corev1.ConfigMap
}

// secret returns nil where there is none.
func (o *once) secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	return readOnce(ctx, &o.bounded, o.secrets, key, &corev1.Secret{})
}

// configMap returns nil where there is none.
func (o *once) configMap(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error) {
	return readOnce(ctx, &o.bounded, o.configMaps, key, &corev1.ConfigMap{})
}

func readOnce[O sized](ctx context.Context, from *bounded, known map[types.NamespacedName]O, key types.NamespacedName,
	into O) (O, error) {
	var none O
	if o, done := known[key]; done {
		return o, nil
	}
	found, err := from.read(ctx, key, into)
	if err != nil {
		return none, err
	}
	if !found {
		into = none
	}
	known[key] = into
	return into, nil
}

// sized is an object that knows its size in bytes.
type sized interface {
	client.Object
	Size() int
}

// bounded reads objects from the API server, until they have more than bounds.ReferencedBytes together, or as much was
// used of them.
type bounded struct {
	live        client.Reader
	bytes, used int
}

// errReferencedBytes reports that the objects of a custom resource are larger than what is read.
var errReferencedBytes = errors.New("too many bytes")

// read reports whether there is such an object.
func (b *bounded) read(ctx context.Context, key types.NamespacedName, into sized) (bool, error) {
	switch {
	case len(validation.NameIsDNSSubdomain(key.Name, false)) > 0:
		return false, nil // nothing can have that name, and asking for it would fail forever
	case b.bytes > limits.ReferencedBytes:
		return false, errReferencedBytes
	}
	if err := b.live.Get(ctx, key, into); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if b.bytes += into.Size(); b.bytes > limits.ReferencedBytes {
		return false, errReferencedBytes
	}
	return true, nil
}

// use counts what a reference takes of an object: bytes of values, and the names of its keys where one is missing.
func (b *bounded) use(bytes int, found *build.Lookup) error {
	b.used += bytes
	for _, key := range found.ExistingKeys {
		b.used += len(key)
	}
	if b.used > limits.ReferencedBytes {
		return errReferencedBytes
	}
	return nil
}

// podReferences reads what the overrides bring into the pods.
func podReferences(ctx context.Context, in *build.Inputs, o *once) *problem.Problem {
	objectsReferred := map[[2]string]bool{}
	for _, ref := range in.ReferencesOfPods() {
		objectsReferred[[2]string{ref.Kind, ref.Name}] = true
		if len(objectsReferred) > limits.References {
			return problem.New(problem.Problem{
				Reason: problem.TooLarge, Path: ref.Path, Type: field.ErrorTypeTooMany,
				Detail: fmt.Sprintf("the spec refers to more than %d Secrets and ConfigMaps, counted up to here",
					limits.References), Fix: "put several keys into one",
			})
		}
		found, content, err := podContent(ctx, &ref, o)
		if err != nil {
			return lookupFailed(conditionOf(ref.Kind), ref.Path, ref.Kind+" "+ref.Namespace+"/"+ref.Name, err)
		}
		build.AddPodReference(in, ref, found, content)
	}
	return nil
}

// conditionOf is the condition that reports an object of a kind that cannot be read.
func conditionOf(kind string) string {
	if kind == objects.KindSecret {
		return v1alpha2.ConditionSecretsResolved
	}
	return v1alpha2.ConditionConfigGenerated
}

// podContent is what a reference of the pods takes of an object, by key.
func podContent(ctx context.Context, ref *objects.Reference, o *once) (build.Lookup, map[string][]byte, error) {
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if ref.Kind == objects.KindSecret {
		s, err := o.secret(ctx, key)
		if err != nil || s == nil {
			return build.Lookup{State: build.Missing}, nil, err
		}
		return take(o, ref.Keys, s.Data, nil)
	}
	cm, err := o.configMap(ctx, key)
	if err != nil || cm == nil {
		return build.Lookup{State: build.Missing}, nil, err
	}
	return take(o, ref.Keys, cm.BinaryData, cm.Data)
}

// take returns the values of keys, and of all where none is named. No key has both data and text.
func take(o *once, keys []string, data map[string][]byte, texts map[string]string) (found build.Lookup,
	taken map[string][]byte, _ error) {
	all := map[string]bool{}
	for name := range data {
		all[name] = true
	}
	for name := range texts {
		all[name] = true
	}
	wanted := slices.Compact(slices.Sorted(slices.Values(keys)))
	if len(keys) == 0 {
		wanted = slices.Collect(maps.Keys(all))
	}
	taken = map[string][]byte{}
	for _, key := range wanted {
		value, ok := data[key]
		if text, is := texts[key]; is {
			value, ok = []byte(text), true
		}
		if !ok {
			continue
		}
		taken[key] = value
		if err := o.use(len(key)+len(value), &found); err != nil {
			return found, nil, err
		}
	}
	if len(taken) < len(wanted) {
		found = build.LookIn(all, keys...)
	}
	err := o.use(0, &found)
	return found, taken, err
}

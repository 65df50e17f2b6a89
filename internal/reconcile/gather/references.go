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

// references reads the objects that the resource refers to; failed reads stay nil.
func (g *Gatherer) references(ctx context.Context, in *build.Inputs, problems *problem.Collector) {
	o := &referenceReader{boundedReader: boundedReader{live: g.Live}, secrets: map[types.NamespacedName]*corev1.Secret{},
		configMaps: map[types.NamespacedName]*corev1.ConfigMap{}}
	var f *problem.Problem
	in.Secrets, f = g.secrets(ctx, in, o)
	problems.AddFound(f)
	in.Override, f = g.override(ctx, in, o)
	problems.AddFound(f)
	in.CABundle, f = g.caBundle(ctx, in, o)
	problems.AddFound(f)
	in.CABundles, f = g.caBundles(ctx, in, o)
	problems.AddFound(f)
	service, f := g.platformBundle(ctx, types.NamespacedName{Namespace: in.CR.Namespace, Name: build.ServiceBundle}, o)
	in.ServiceCA = build.CertificatesIn(service)
	problems.AddFound(f)
	in.Certificate, f = certificate(ctx, in.CR, o)
	problems.AddFound(f)
	problems.AddFound(podReferences(ctx, in, o))
	g.claims(ctx, in, problems)
}

// referenceReader reads each Secret and ConfigMap once in a reconcile, so that all references see the same version.
type referenceReader struct {
	boundedReader
	secrets    map[types.NamespacedName]*corev1.Secret
	configMaps map[types.NamespacedName]*corev1.ConfigMap
}

func (r *referenceReader) secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	return readOnce(ctx, &r.boundedReader, r.secrets, key, &corev1.Secret{})
}

func (r *referenceReader) configMap(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error) {
	return readOnce(ctx, &r.boundedReader, r.configMaps, key, &corev1.ConfigMap{})
}

func readOnce[O sized](ctx context.Context, from *boundedReader, known map[types.NamespacedName]O,
	key types.NamespacedName, into O) (O, error) {
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

type sized interface {
	client.Object
	Size() int
}

// boundedReader reads live objects up to limits.ReferencedBytes, and bounds the bytes used of them in the same way.
type boundedReader struct {
	live        client.Reader
	bytes, used int
}

// errReferencedBytes means that the referenced objects exceed limits.ReferencedBytes.
var errReferencedBytes = errors.New("too many bytes")

func (b *boundedReader) read(ctx context.Context, key types.NamespacedName, into sized) (bool, error) {
	switch {
	case len(validation.NameIsDNSSubdomain(key.Name, false)) > 0:
		return false, nil // no object can have that name, and the request would fail forever
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

// countBytes counts the bytes of values, and of the existing keys' names if a key is missing.
func (b *boundedReader) countBytes(bytes int, found *build.Lookup) error {
	b.used += bytes
	for _, key := range found.ExistingKeys {
		b.used += len(key)
	}
	if b.used > limits.ReferencedBytes {
		return errReferencedBytes
	}
	return nil
}

func podReferences(ctx context.Context, in *build.Inputs, r *referenceReader) *problem.Problem {
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
		found, content, err := podContent(ctx, &ref, r)
		if err != nil {
			return lookupFailed(conditionOf(ref.Kind), ref.Path, ref.Kind+" "+ref.Namespace+"/"+ref.Name, err)
		}
		build.AddPodReference(in, ref, found, content)
	}
	return nil
}

// conditionOf returns the condition that reports an unreadable object of a kind.
func conditionOf(kind string) string {
	if kind == objects.KindSecret {
		return v1alpha2.ConditionSecretsResolved
	}
	return v1alpha2.ConditionConfigGenerated
}

func podContent(ctx context.Context, ref *objects.Reference,
	r *referenceReader) (build.Lookup, map[string][]byte, error) {
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	if ref.Kind == objects.KindSecret {
		s, err := r.secret(ctx, key)
		if err != nil || s == nil {
			return build.Lookup{State: build.Missing}, nil, err
		}
		return selectKeys(r, ref.Keys, s.Data, nil)
	}
	cm, err := r.configMap(ctx, key)
	if err != nil || cm == nil {
		return build.Lookup{State: build.Missing}, nil, err
	}
	return selectKeys(r, ref.Keys, cm.BinaryData, cm.Data)
}

// selectKeys returns the values of the keys, or all values if keys is empty. A key is either in data or in texts.
func selectKeys(r *referenceReader, keys []string, data map[string][]byte, texts map[string]string) (found build.Lookup,
	selected map[string][]byte, _ error) {
	all := map[string]bool{}
	for name := range data {
		all[name] = true
	}
	for name := range texts {
		all[name] = true
	}
	requested := slices.Compact(slices.Sorted(slices.Values(keys)))
	if len(keys) == 0 {
		requested = slices.Collect(maps.Keys(all))
	}
	selected = map[string][]byte{}
	for _, key := range requested {
		value, ok := data[key]
		if text, is := texts[key]; is {
			value, ok = []byte(text), true
		}
		if !ok {
			continue
		}
		selected[key] = value
		if err := r.countBytes(len(key)+len(value), &found); err != nil {
			return found, nil, err
		}
	}
	if len(selected) < len(requested) {
		found = build.LookIn(all, keys...)
	}
	err := r.countBytes(0, &found)
	return found, selected, err
}

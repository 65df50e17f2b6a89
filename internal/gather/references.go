// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// references reads what the resource refers to. What could not be asked stays nil.
func (g *Gatherer) references(ctx context.Context, in *desired.Inputs) fault.List {
	var faults fault.List
	add := func(f *fault.Fault) {
		if f != nil {
			faults = append(faults, f)
		}
	}
	o := &once{live: g.Live, secrets: map[types.NamespacedName]*corev1.Secret{}, configMaps: map[types.NamespacedName]*corev1.ConfigMap{}}
	var f *fault.Fault
	in.Secrets, f = g.secrets(ctx, in.CR, o)
	add(f)
	in.Override, f = g.override(ctx, in.CR, o)
	add(f)
	in.CABundle, f = g.caBundle(ctx, in.CR, o)
	add(f)
	in.PodReferences, f = podReferences(ctx, in.CR, o)
	add(f)
	return faults
}

// once reads each Secret and each ConfigMap once in a pass, so that all who refer to one see the same.
type once struct {
	live       client.Reader
	secrets    map[types.NamespacedName]*corev1.Secret
	configMaps map[types.NamespacedName]*corev1.ConfigMap
}

// secret returns nil where there is none.
func (o *once) secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, error) {
	return readOnce(ctx, o.live, o.secrets, key, &corev1.Secret{})
}

// configMap returns nil where there is none.
func (o *once) configMap(ctx context.Context, key types.NamespacedName) (*corev1.ConfigMap, error) {
	return readOnce(ctx, o.live, o.configMaps, key, &corev1.ConfigMap{})
}

func readOnce[O client.Object](ctx context.Context, live client.Reader, known map[types.NamespacedName]O, key types.NamespacedName, into O) (O, error) {
	var none O
	if o, done := known[key]; done {
		return o, nil
	}
	err := live.Get(ctx, key, into)
	switch {
	case apierrors.IsNotFound(err):
		into = none
	case err != nil:
		return none, err
	}
	known[key] = into
	return into, nil
}

// podReferences reads what the overrides bring into the pods.
func podReferences(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, o *once) ([]desired.PodReferenceFact, *fault.Fault) {
	var facts []desired.PodReferenceFact
	objectsReferred := map[[2]string]bool{}
	for _, ref := range objects.PodReferences(&cr.Spec) {
		objectsReferred[[2]string{ref.Kind, ref.Name}] = true
		if len(objectsReferred) > bounds.References {
			return nil, &fault.Fault{
				Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonInvalidSpec,
				Message: fmt.Sprintf("%s: refers to more than %d Secrets and ConfigMaps, counted up to here: put several keys into one", ref.Path, bounds.References),
			}
		}
		content, f := podContent(ctx, types.NamespacedName{Namespace: cr.Namespace, Name: ref.Name}, ref.Kind, o)
		if f != nil {
			return nil, f
		}
		facts = append(facts, podReferenceFact(ref, content))
	}
	return facts, nil
}

// podContent is what an object holds; nil where there is none.
func podContent(ctx context.Context, key types.NamespacedName, kind string, o *once) (map[string]secret.Value, *fault.Fault) {
	if len(validation.NameIsDNSSubdomain(key.Name, false)) > 0 {
		return nil, nil // nothing can have that name, and asking for it would fail for ever
	}
	content := map[string]secret.Value{}
	if kind == objects.KindSecret {
		s, err := o.secret(ctx, key)
		if err != nil {
			return nil, failedToAsk(v1alpha2.ConditionSecretsResolved, "Secret "+key.String(), err)
		}
		if s == nil {
			return nil, nil
		}
		for name, value := range s.Data {
			content[name] = secret.New(value)
		}
		return content, nil
	}
	cm, err := o.configMap(ctx, key)
	if err != nil {
		return nil, failedToAsk(v1alpha2.ConditionConfigGenerated, "ConfigMap "+key.String(), err)
	}
	if cm == nil {
		return nil, nil
	}
	for name, text := range cm.Data {
		content[name] = secret.New([]byte(text))
	}
	for name, value := range cm.BinaryData {
		content[name] = secret.New(value)
	}
	return content, nil
}

func podReferenceFact(ref objects.PodReference, content map[string]secret.Value) desired.PodReferenceFact {
	fact := desired.PodReferenceFact{Ref: ref, Missing: content == nil}
	if content == nil || len(ref.Keys) == 0 {
		fact.Content = content
		return fact
	}
	fact.Content = map[string]secret.Value{}
	for _, key := range ref.Keys {
		if value, ok := content[key]; ok {
			fact.Content[key] = value
		} else {
			fact.MissingKeys = append(fact.MissingKeys, key)
		}
	}
	if len(fact.MissingKeys) > 0 {
		fact.Keys = slices.Sorted(maps.Keys(content))
	}
	return fact
}

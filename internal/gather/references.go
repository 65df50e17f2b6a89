// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// references reads what the resource refers to. What could not be asked stays nil.
func (g *Gatherer) references(ctx context.Context, in *desired.Inputs, problems *problem.Collector) {
	o := &once{live: g.Live, secrets: map[types.NamespacedName]*corev1.Secret{}, configMaps: map[types.NamespacedName]*corev1.ConfigMap{}}
	var f *problem.Problem
	in.Secrets, f = g.secrets(ctx, in, o)
	problems.AddFound(f)
	in.Override, f = g.override(ctx, in, o)
	problems.AddFound(f)
	in.CABundle, f = g.caBundle(ctx, in, o)
	problems.AddFound(f)
	service, f := g.platformBundle(ctx, types.NamespacedName{Namespace: in.CR.Namespace, Name: desired.ServiceBundle}, o)
	in.ServiceCA = desired.CertificatesIn(service)
	problems.AddFound(f)
	in.Certificate, f = certificate(ctx, in.CR, o)
	problems.AddFound(f)
	in.PodReferences, f = podReferences(ctx, in, o)
	problems.AddFound(f)
}

// once reads each Secret and each ConfigMap once in a reconcile, so that all who refer to one see the same.
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
	if len(validation.NameIsDNSSubdomain(key.Name, false)) > 0 {
		return none, nil // nothing can have that name, and asking for it would fail forever
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
func podReferences(ctx context.Context, in *desired.Inputs, o *once) ([]desired.PodReferenceFact, *problem.Problem) {
	var facts []desired.PodReferenceFact
	objectsReferred := map[[2]string]bool{}
	for _, ref := range in.ReferencesOfPods() {
		objectsReferred[[2]string{ref.Kind, ref.Name}] = true
		if len(objectsReferred) > bounds.References {
			return nil, problem.New(problem.Problem{
				Reason: problem.TooLarge, Path: ref.Path, Type: field.ErrorTypeTooMany,
				Detail: fmt.Sprintf("the spec refers to more than %d Secrets and ConfigMaps, counted up to here", bounds.References), Fix: "put several keys into one",
			})
		}
		content, f := podContent(ctx, &ref, o)
		if f != nil {
			return nil, f
		}
		facts = append(facts, podReferenceFact(ref, content))
	}
	return facts, nil
}

// podContent is what an object holds; nil where there is none.
func podContent(ctx context.Context, ref *objects.Reference, o *once) (map[string]secret.Value, *problem.Problem) {
	key := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
	content := map[string]secret.Value{}
	if ref.Kind == objects.KindSecret {
		s, err := o.secret(ctx, key)
		if err != nil {
			return nil, lookupFailed(v1alpha2.ConditionSecretsResolved, ref.Path, "Secret "+key.String(), err)
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
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, ref.Path, "ConfigMap "+key.String(), err)
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

func podReferenceFact(ref objects.Reference, content map[string]secret.Value) desired.PodReferenceFact {
	fact := desired.PodReferenceFact{Ref: ref, Content: content}
	switch {
	case content == nil:
		fact.State = desired.Missing
	case len(ref.Keys) > 0:
		fact.Lookup = desired.LookIn(content, ref.Keys...)
		fact.Content = map[string]secret.Value{}
		for _, key := range ref.Keys {
			if value, ok := content[key]; ok {
				fact.Content[key] = value
			}
		}
	}
	return fact
}

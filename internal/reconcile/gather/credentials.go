// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	imagename "github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

type credentials map[string]authn.Authenticator

// Resolve returns the credentials for exactly this repository, so that a mirror never gets those for another registry.
func (c credentials) Resolve(at authn.Resource) (authn.Authenticator, error) {
	if authenticator := c[at.String()]; authenticator != nil {
		return authenticator, nil
	}
	return authn.Anonymous, nil
}

// pullSecret is a Secret with credentials, the field that leads to it, and the ServiceAccount that names it, if any.
type pullSecret struct{ name, path, account string }

func (p *pullSecret) in(namespace string) string {
	text := "Secret " + namespace + "/" + p.name
	if p.account != "" {
		text += " of ServiceAccount " + p.account
	}
	return text
}

// credentials returns a node's credentials for each image and its mirrors. Like a node, it skips broken Secrets.
func (g *Gatherer) credentials(
	ctx context.Context, cr *v1alpha2.LlamaStackDistribution, path string, from *settings.Registries, images ...string,
) ([]authn.Keychain, *problem.Problem) {
	found := make([]credentials, len(images))
	names, err := pullSecrets(ctx, g, cr, path)
	if err != nil {
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, path, "the credentials for the images", err)
	}
	reader, values := &boundedReader{live: g.Live}, limits.PullSecretValues
	for _, pull := range names {
		var s corev1.Secret
		exists, err := reader.read(ctx, types.NamespacedName{Namespace: cr.Namespace, Name: pull.name}, &s)
		switch {
		case err != nil:
			return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, pull.path, pull.in(cr.Namespace), err)
		case !exists:
			continue
		}
		if err := resolve(ctx, &s, from, images, found, &values); err != nil {
			return nil, problem.New(problem.Problem{
				Reason: problem.TooLarge, Path: pull.path, Type: field.ErrorTypeTooMany,
				Detail: pull.in(cr.Namespace) + ": " + err.Error(),
				Fix:    "keep only the credentials that the pods need", Err: err,
			})
		}
	}
	chains := make([]authn.Keychain, len(images))
	for i, keychain := range found {
		if keychain != nil {
			chains[i] = keychain
		}
	}
	return chains, nil
}

// pullSecrets returns the pull Secrets in a node's order, without duplicates; path is the field of an image.
func pullSecrets(ctx context.Context, g *Gatherer, cr *v1alpha2.LlamaStackDistribution, path string) ([]pullSecret,
	error) {
	var names []pullSecret
	known := map[string]bool{"": true}
	add := func(s pullSecret) {
		if !known[s.name] && len(names) < limits.References {
			known[s.name] = true
			names = append(names, s)
		}
	}
	if w := cr.Spec.Workload; w != nil {
		for i, ref := range w.ImagePullSecrets {
			add(pullSecret{name: ref.Name, path: fmt.Sprintf("spec.workload.imagePullSecrets[%d]", i)})
		}
	}
	var account corev1.ServiceAccount
	key := types.NamespacedName{Namespace: cr.Namespace, Name: objects.PodServiceAccountName(cr)}
	err := g.Cached.Get(ctx, key, &account) // the cache has only the operator's own ServiceAccounts
	if apierrors.IsNotFound(err) {
		err = g.Live.Get(ctx, key, &account)
	}
	for _, ref := range account.ImagePullSecrets {
		add(pullSecret{ref.Name, path, key.Name})
	}
	return names, client.IgnoreNotFound(err)
}

// resolve adds a Secret's credentials for images that have none yet, and subtracts the Secret's values from the budget.
func resolve(ctx context.Context, s *corev1.Secret, from *settings.Registries, images []string, found []credentials,
	values *int) error {
	key, holds := map[corev1.SecretType]string{
		corev1.SecretTypeDockerConfigJson: corev1.DockerConfigJsonKey, corev1.SecretTypeDockercfg: corev1.DockerConfigKey,
	}[s.Type]
	if !holds {
		return nil
	}
	text := s.Data[key]
	size, excess := limits.Scan(text, limits.Limits{Bytes: limits.ReferencedBytes, Levels: limits.DocumentLevels,
		Nodes: *values})
	*values -= size.Nodes
	switch {
	case excess != nil && excess.Unit == limits.Nodes:
		return fmt.Errorf("the Secrets with credentials for images have more than %d values in total, counted up to this "+
			"one", limits.PullSecretValues)
	case excess != nil:
		return fmt.Errorf("it has more than %d %s", excess.Limit,
			excess.Unit) // without the path, which holds text of the Secret
	}
	chain, err := kubernetes.NewFromPullSecrets(ctx, []corev1.Secret{*s})
	if err != nil {
		return nil //nolint:nilerr // a node skips it
	}
	for i, image := range images {
		for _, location := range from.Locations(image) {
			if err := resolveAt(chain, location, &found[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolveAt adds the credentials for a location of an image unless it has some.
func resolveAt(chain authn.Keychain, location string, found *credentials) error {
	ref, err := imagename.ParseReference(location)
	if err != nil || (*found)[ref.Context().String()] != nil {
		return nil //nolint:nilerr // the registry request reports a malformed image
	}
	authenticator, err := chain.Resolve(ref.Context())
	if err != nil || authenticator == authn.Anonymous {
		return nil //nolint:nilerr // a node continues without credentials
	}
	config, err := authenticator.Authorization()
	if err != nil {
		return nil //nolint:nilerr // a node continues without credentials
	}
	size := len(config.Username) + len(config.Password) + len(config.IdentityToken) + len(config.RegistryToken)
	if size > limits.CredentialBytes {
		return fmt.Errorf("the credentials for the registry of image %s have more than %d bytes", limits.Message(location),
			limits.CredentialBytes)
	}
	if *found == nil {
		*found = credentials{}
	}
	(*found)[ref.Context().String()] = authenticator
	return nil
}

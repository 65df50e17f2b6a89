// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/stable"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

const pathDistribution = "spec.distribution"

// labels completes the distribution by the labels of its image, where they count and something is generated.
func (g *Gatherer) labels(ctx context.Context, out *Gathered, problems *problem.Collector) {
	in := out.Inputs
	user := client.ObjectKeyFromObject(in.CR)
	if g.Labels == nil {
		return
	}
	if in.Distribution == nil || !in.Distribution.LabelsCount() || !out.Settings.Registries.Reads() || !in.NeedsBase() {
		g.Labels.ForgetLabels(user) //nolint:contextcheck // it asks nobody
		return
	}
	keys, err := g.keys(ctx, in.CR)
	if err != nil {
		problems.AddFound(lookupFailed(v1alpha2.ConditionConfigGenerated, pathDistribution, "the credentials for the image", err))
		return
	}
	answer := g.Labels.Labels(user, imagelabels.Question{ //nolint:contextcheck // asking outlives the reconcile
		Image: in.Distribution.Image, Keys: keys, Registries: &out.Settings.Registries, Generation: in.CR.Generation,
	})
	unresolved := func(p *problem.Problem) {
		problems.AddFound(p)
		in.Unresolved = true // what else is wrong is reported beside this
	}
	switch {
	case answer.Pending:
		out.pending(answer.Since)
		unresolved(problem.New(problem.Problem{
			Reason: problem.ReadingImageLabels, Path: pathDistribution,
			Detail: "the registry is being asked for the labels of image " + in.Distribution.Image, Fix: "waiting for its answer",
		}))
	case answer.Err != nil && in.Distribution.Adopted: // Build reports how to go on with a name that nobody registered
	case answer.Err != nil:
		unresolved(labelsProblem(in.Distribution.Image, answer.Err))
	default:
		d, p := resolve(out.Settings, in, answer.Labels)
		if p != nil {
			unresolved(p)
			return
		}
		d.Digest = answer.Digest
		in.Distribution = d
	}
}

// keys are the credentials that a node has for the image: those of the pod's imagePullSecrets, and of its ServiceAccount's. A Secret that does
// not exist, or is broken, is passed over, as a node does. Secrets are read live each time: which answer counts depends on what they hold.
func (g *Gatherer) keys(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (authn.Keychain, error) {
	var names []string
	if w := cr.Spec.Workload; w != nil {
		for _, ref := range w.ImagePullSecrets {
			names = append(names, ref.Name)
		}
	}
	var account corev1.ServiceAccount
	key := types.NamespacedName{Namespace: cr.Namespace, Name: objects.PodServiceAccountName(cr)}
	err := g.Cached.Get(ctx, key, &account) // the operator's own; one that the spec names is not in the cache
	if apierrors.IsNotFound(err) {
		err = g.Live.Get(ctx, key, &account)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	for _, ref := range account.ImagePullSecrets {
		names = append(names, ref.Name)
	}
	var chains []authn.Keychain
	for _, name := range names[:min(len(names), bounds.References)] {
		var s corev1.Secret
		err := g.Live.Get(ctx, types.NamespacedName{Namespace: cr.Namespace, Name: name}, &s)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsInvalid(err), name == "":
			continue
		case err != nil:
			return nil, err
		}
		// Each by itself: a broken one would take the others along.
		if chain, err := kubernetes.NewFromPullSecrets(ctx, []corev1.Secret{s}); err == nil {
			chains = append(chains, chain)
		}
	}
	if len(chains) == 0 {
		return nil, nil
	}
	return authn.NewMultiKeychain(chains...), nil
}

// waysOut are what a user can do where labels cannot be read.
const waysOut = "what runs stays; the operator tries again. To go on without the registry, register the image with its base configuration in the " +
	"ConfigMap " + settings.ConfigMapName + ", set readLabels: false under " + settings.KeyRegistries + " there, or use overrideConfig"

// labelsProblem is the problem of labels that could not be read.
func labelsProblem(image string, err error) *problem.Problem {
	if label, ok := errors.AsType[*imagelabels.LabelError](err); ok {
		return problem.New(problem.Problem{
			Reason: problem.InvalidImage, Path: pathDistribution, Type: field.ErrorTypeInvalid, Value: image, Detail: label.Error(),
			Fix: "correct the label, use another image, or use overrideConfig", Err: err,
		})
	}
	cause := err
	if known, ok := errors.AsType[*registry.Error](err); ok {
		cause = known.Err
	}
	reason, kind, fix := registryReason(registry.KindOf(err))
	p := problem.Problem{
		Reason: reason, Path: pathDistribution, Type: kind, Fix: fix, Err: err,
		Detail: fmt.Sprintf("the labels of image %s could not be read: %v", image, stable.Error(cause)),
	}
	if kind == field.ErrorTypeNotFound || kind == field.ErrorTypeInvalid {
		p.Value = image
	}
	return problem.New(p)
}

// registryReason is the reason of a kind of error, with what to do.
func registryReason(kind registry.Kind) (_ problem.Reason, _ field.ErrorType, fix string) {
	switch kind {
	case registry.Unauthorized:
		return problem.ImageNotAccessible, field.ErrorTypeForbidden,
			"name a Secret with credentials for the registry in spec.workload.imagePullSecrets, or check the name of the image; " + waysOut
	case registry.NotFound:
		return problem.ImageNotAccessible, field.ErrorTypeNotFound, "correct the image, or push it; the operator tries again"
	case registry.NotAnImage, registry.InvalidReference, registry.TooLarge:
		return problem.InvalidImage, field.ErrorTypeInvalid, "use another image, or overrideConfig"
	case registry.Refused:
		return problem.ForbiddenBySettings, field.ErrorTypeForbidden, "use an image of another registry, ask the administrator to name this one under " +
			settings.KeyRegistries + " in the ConfigMap " + settings.ConfigMapName + ", or use overrideConfig"
	case registry.Unreachable, registry.RateLimited, registry.Corrupt, registry.NoFile:
	}
	return problem.RegistryUnavailable, "", waysOut
}

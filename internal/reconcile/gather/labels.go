// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const pathDistribution = "spec.distribution"

// labels completes the distribution by the running server's report, image labels and Python packages, if needed.
func (g *Gatherer) labels(ctx context.Context, out *Gathered, problems *problem.Collector) {
	in := out.Inputs
	user := client.ObjectKeyFromObject(in.CR)
	needed := in.Distribution != nil && in.NeedsBase()
	var found settings.Hints
	if needed && in.Distribution.Line == nil {
		found.Status = &in.CR.Status
		if d, p := resolveDistribution(out.Settings, in, found); p == nil {
			in.Distribution = d
		}
	}
	if g.Labels == nil {
		return
	}
	if !needed || !in.Distribution.NeedsLabels() || !out.Settings.Registries.ReadsLabels() {
		if !replacesOnlyPod(in) || !out.Settings.Registries.ReadsLabels() {
			g.Labels.Files(user, "", nil)
		} else {
			problems.AddFound(g.manifest(ctx, out))
		}
		g.Labels.Files(user, oci.ServerPackage, nil)
		return
	}
	keys, p := g.credentials(ctx, in.CR, pathDistribution, &out.Settings.Registries, in.Distribution.Image)
	if p != nil {
		problems.AddFound(p)
		return
	}
	request := imagelabels.Request{
		Image: in.Distribution.Image, Keys: keys[0], Registries: &out.Settings.Registries, Generation: in.CR.Generation,
	}
	if p := applyImageLabels(g.Labels, out, request, found); p != nil {
		problems.AddFound(p)
		in.Unresolved = true // report other errors as well
	}
}

// replacesOnlyPod reports whether another image replaces that of the only available pod.
func replacesOnlyPod(in *build.Inputs) bool {
	live := in.Live
	if live == nil || in.Distribution == nil || live.Status.AvailableReplicas == 0 ||
		live.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return false
	}
	return !slices.ContainsFunc(live.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return c.Image == in.Distribution.Image
	})
}

// manifest asks the registry for the image of a new pod for which the only running one must end. Only a missing image
// is a problem: a registry that the operator cannot ask may still answer the node.
func (g *Gatherer) manifest(ctx context.Context, out *Gathered) *problem.Problem {
	in, known := out.Inputs, &out.Settings.Registries
	keys, p := g.credentials(ctx, in.CR, pathDistribution, known, in.Distribution.Image)
	if p != nil {
		return p
	}
	result := g.Labels.Labels(client.ObjectKeyFromObject(in.CR), imagelabels.Request{
		Image: in.Distribution.Image, Keys: keys[0], Registries: known, Generation: in.CR.Generation,
	})
	switch {
	case result.Pending:
		out.setPending(result.Since)
		return pendingProblem("manifest", in.Distribution.Image)
	case registry.KindOf(result.Err) == registry.NotFound:
		return partManifest.failed(in.Distribution.Image, result.Err)
	}
	return nil
}

// applyImageLabels completes the distribution by the image's labels, and if necessary by its Python packages.
func applyImageLabels(known *imagelabels.Reader, out *Gathered, request imagelabels.Request,
	found settings.Hints) *problem.Problem {
	in := out.Inputs
	user := client.ObjectKeyFromObject(in.CR)
	registered := in.Distribution.Source == v1alpha2.ConfigSourceRegistered
	result := known.Labels(user, request)
	switch {
	case result.Pending:
		out.setPending(result.Since)
		return pendingProblem("labels", request.Image)
	case result.Err != nil && (registered || in.Distribution.Adopted):
		// An unreachable registry is fine for a registered image; build reports the alternatives for other names.
		return nil
	case result.Err != nil:
		return labelsProblem(request.Image, result.Err)
	}
	found.Labels = result.Labels
	d, p := resolveDistribution(out.Settings, in, found)
	if p != nil {
		return p
	}
	if !d.NeedsPackage() {
		known.Files(user, oci.ServerPackage, nil)
	} else if p := readServerPackage(known, out, request, &found); p != nil {
		return p
	} else if d, p = resolveDistribution(out.Settings, in, found); p != nil {
		return p
	}
	d.Digest = result.Digest
	in.Distribution = d
	return nil
}

// readServerPackage sets the server's Python package in the image, if it has one in a layer of readable size.
func readServerPackage(known *imagelabels.Reader, out *Gathered, request imagelabels.Request,
	found *settings.Hints) *problem.Problem {
	result := known.Files(client.ObjectKeyFromObject(out.Inputs.CR), oci.ServerPackage,
		[]imagelabels.Request{request})[0]
	_, noPackage := errors.AsType[*imagelabels.ContentError](result.Err)
	switch {
	case result.Pending:
		out.setPending(result.Since)
		return pendingProblem("Python packages", request.Image)
	case noPackage:
		return nil
	case result.Err != nil:
		return partPackages.failed(request.Image, result.Err)
	}
	found.Package, _ = oci.ReadPackage(result.Content) // like a missing package, an error names no release
	return nil
}

func pendingProblem(part, image string) *problem.Problem {
	return problem.New(problem.Problem{
		Reason: problem.ReadingImageLabels, Path: pathDistribution,
		Detail: fmt.Sprintf("reading from the registry: the %s of image %s", part, image), Fix: "waiting for the " +
			"response",
	})
}

// offlineAdvice is the advice for labels that could not be read.
const offlineAdvice = "the operator retries, and the running server stays as it is. To continue without the " +
	"registry, register the image with its base configuration in ConfigMap " + settings.ConfigMapName + ", set " +
	"readLabels: false under " + settings.KeyRegistries + " there, or use overrideConfig"

func labelsProblem(image string, err error) *problem.Problem {
	if label, ok := errors.AsType[*imagelabels.ContentError](err); ok {
		return problem.New(problem.Problem{
			Reason: problem.InvalidImage, Path: pathDistribution, Type: field.ErrorTypeInvalid, Value: image,
			Detail: label.Error(),
			Fix:    "correct the label, use another image, or use overrideConfig", Err: err,
		})
	}
	return partLabels.failed(image, err)
}

// imagePart describes a part of an image and the advice if reading it fails.
type imagePart struct {
	// path is the field that names the image, and what the part.
	path, part string
	// firstFix precedes the other fixes, and offlineFix is the advice to continue without the registry.
	firstFix, offlineFix string
	// alternative replaces the part, and alternativeFix is the same as advice.
	alternative, alternativeFix string
}

var (
	partLabels   = imagePart{pathDistribution, "the labels", "", offlineAdvice, "overrideConfig", "use overrideConfig"}
	partManifest = imagePart{path: pathDistribution, part: "the manifest"}
	partPackages = imagePart{
		pathDistribution, "the Python packages", "set spec.distribution.version; ", offlineAdvice, "overrideConfig", "use " +
			"overrideConfig",
	}
	partProvider = imagePart{
		pathExternal, parse.PackageFile, "",
		"the operator retries, and the running server stays as it is. To continue without the registry, " + inlinePackage,
		inlinePackage,
		inlinePackage,
	}
)

// failed returns the problem of a part of an image that the registry did not return.
func (r *imagePart) failed(image string, err error) *problem.Problem {
	cause := err
	if known, ok := errors.AsType[*registry.Error](err); ok {
		cause = known.Err
	}
	p := problem.Problem{
		Reason: problem.RegistryUnavailable, Path: r.path, Fix: r.offlineFix, Err: err,
		Detail: fmt.Sprintf("%s of image %s could not be read: %v", r.part, image, problem.StableError(cause)),
	}
	switch registry.KindOf(err) {
	case registry.Unauthorized:
		p.Reason, p.Type = problem.ImageNotAccessible, field.ErrorTypeForbidden
		p.Fix = "add a Secret with credentials for the registry to spec.workload.imagePullSecrets, or check the image " +
			"name; " + r.offlineFix
	case registry.NotFound:
		p.Reason, p.Type, p.Value = problem.ImageNotAccessible, field.ErrorTypeNotFound, image
		p.Fix = "correct the image, or push it; the operator retries"
	case registry.NotAnImage, registry.InvalidReference, registry.TooLarge:
		p.Reason, p.Type, p.Value, p.Fix = problem.InvalidImage, field.ErrorTypeInvalid, image,
			"use another image, or "+r.alternative
	case registry.Refused:
		p.Reason, p.Type = problem.ForbiddenBySettings, field.ErrorTypeForbidden
		p.Fix = "use an image of another registry, ask the administrator to allow this one under " +
			settings.KeyRegistries + " in the ConfigMap " +
			settings.ConfigMapName + ", or " + r.alternativeFix
	case registry.Unreachable, registry.RateLimited, registry.Corrupt, registry.NoFile:
	}
	p.Fix = r.firstFix + p.Fix
	return problem.New(p)
}

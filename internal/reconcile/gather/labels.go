// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
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
	if !needed || !in.Distribution.LabelsCount() || !out.Settings.Registries.Reads() {
		g.Labels.Files(user, "", nil)
		g.Labels.Files(user, oci.ServerPackage, nil)
		return
	}
	keys, p := g.credentials(ctx, in.CR, pathDistribution, &out.Settings.Registries, in.Distribution.Image)
	if p != nil {
		problems.AddFound(p)
		return
	}
	question := imagelabels.Question{
		Image: in.Distribution.Image, Keys: keys[0], Registries: &out.Settings.Registries, Generation: in.CR.Generation,
	}
	if p := imageSays(g.Labels, out, question, found); p != nil {
		problems.AddFound(p)
		in.Unresolved = true // report other errors as well
	}
}

// imageSays completes the distribution by the image's labels, and if necessary by its Python packages.
func imageSays(known *imagelabels.Reader, out *Gathered, question imagelabels.Question,
	found settings.Hints) *problem.Problem {
	in := out.Inputs
	user := client.ObjectKeyFromObject(in.CR)
	registered := in.Distribution.Source == v1alpha2.ConfigSourceRegistered
	answer := known.Labels(user, question)
	switch {
	case answer.Pending:
		out.pending(answer.Since)
		return pendingProblem("labels", question.Image)
	case answer.Err != nil && (registered || in.Distribution.Adopted):
		// A registry that does not answer is fine for a registered image; build reports the alternatives for other names.
		return nil
	case answer.Err != nil:
		return labelsProblem(question.Image, answer.Err)
	}
	found.Labels = answer.Labels
	d, p := resolveDistribution(out.Settings, in, found)
	if p != nil {
		return p
	}
	if !d.PackageCounts() {
		known.Files(user, oci.ServerPackage, nil)
	} else if p := packageSays(known, out, question, &found); p != nil {
		return p
	} else if d, p = resolveDistribution(out.Settings, in, found); p != nil {
		return p
	}
	d.Digest = answer.Digest
	in.Distribution = d
	return nil
}

// packageSays sets the server's Python package in the image, if it has one in a layer of readable size.
func packageSays(known *imagelabels.Reader, out *Gathered, question imagelabels.Question,
	found *settings.Hints) *problem.Problem {
	answer := known.Files(client.ObjectKeyFromObject(out.Inputs.CR), oci.ServerPackage,
		[]imagelabels.Question{question})[0]
	_, silent := errors.AsType[*imagelabels.ContentError](answer.Err)
	switch {
	case answer.Pending:
		out.pending(answer.Since)
		return pendingProblem("Python packages", question.Image)
	case silent:
		return nil
	case answer.Err != nil:
		return readingPackages.failed(question.Image, answer.Err)
	}
	found.Package, _ = oci.ReadPackage(answer.Content) // like a missing package, an error names no release
	return nil
}

func pendingProblem(what, image string) *problem.Problem {
	return problem.New(problem.Problem{
		Reason: problem.ReadingImageLabels, Path: pathDistribution,
		Detail: fmt.Sprintf("the registry is being asked for the %s of image %s", what, image), Fix: "waiting for its answer",
	})
}

// waysOut is the advice for labels that could not be read.
const waysOut = "what runs stays; the operator tries again. To go on without the registry, register the image with " +
	"its base configuration in the " +
	"ConfigMap " + settings.ConfigMapName + ", set readLabels: false under " + settings.KeyRegistries + " there, or use " +
	"overrideConfig"

func labelsProblem(image string, err error) *problem.Problem {
	if label, ok := errors.AsType[*imagelabels.ContentError](err); ok {
		return problem.New(problem.Problem{
			Reason: problem.InvalidImage, Path: pathDistribution, Type: field.ErrorTypeInvalid, Value: image,
			Detail: label.Error(),
			Fix:    "correct the label, use another image, or use overrideConfig", Err: err,
		})
	}
	return readingLabels.failed(image, err)
}

// reading describes a part of an image and the advice if reading it fails.
type reading struct {
	// path is the field that names the image, and what the part.
	path, what string
	// first precedes the other fixes, and goOn tells how to continue without the registry.
	first, goOn string
	// instead replaces the part, and use is the same as advice.
	instead, use string
}

var (
	readingLabels   = reading{pathDistribution, "the labels", "", waysOut, "overrideConfig", "use overrideConfig"}
	readingPackages = reading{
		pathDistribution, "the Python packages", "set spec.distribution.version; ", waysOut, "overrideConfig", "use " +
			"overrideConfig",
	}
	readingProvider = reading{
		pathExternal, parse.PackageFile, "",
		"what runs stays; the operator tries again. To go on without the registry, " + inlinePackage, inlinePackage,
		inlinePackage,
	}
)

// failed returns the problem of a part of an image that the registry did not return.
func (r *reading) failed(image string, err error) *problem.Problem {
	cause := err
	if known, ok := errors.AsType[*registry.Error](err); ok {
		cause = known.Err
	}
	p := problem.Problem{
		Reason: problem.RegistryUnavailable, Path: r.path, Fix: r.goOn, Err: err,
		Detail: fmt.Sprintf("%s of image %s could not be read: %v", r.what, image, problem.StableError(cause)),
	}
	switch registry.KindOf(err) {
	case registry.Unauthorized:
		p.Reason, p.Type = problem.ImageNotAccessible, field.ErrorTypeForbidden
		p.Fix = "name a Secret with credentials for the registry in spec.workload.imagePullSecrets, or check the name of " +
			"the image; " + r.goOn
	case registry.NotFound:
		p.Reason, p.Type, p.Value = problem.ImageNotAccessible, field.ErrorTypeNotFound, image
		p.Fix = "correct the image, or push it; the operator tries again"
	case registry.NotAnImage, registry.InvalidReference, registry.TooLarge:
		p.Reason, p.Type, p.Value, p.Fix = problem.InvalidImage, field.ErrorTypeInvalid, image,
			"use another image, or "+r.instead
	case registry.Refused:
		p.Reason, p.Type = problem.ForbiddenBySettings, field.ErrorTypeForbidden
		p.Fix = "use an image of another registry, ask the administrator to name this one under " +
			settings.KeyRegistries + " in the ConfigMap " +
			settings.ConfigMapName + ", or " + r.use
	case registry.Unreachable, registry.RateLimited, registry.Corrupt, registry.NoFile:
	}
	p.Fix = r.first + p.Fix
	return problem.New(p)
}

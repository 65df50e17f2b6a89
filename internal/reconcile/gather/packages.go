// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const pathExternal = "spec.externalProviders"

// inlinePackage is the alternative to a package file in the image.
const inlinePackage = "describe the package in the entry itself, under package"

// external reads the packages in the images of external providers, and sets the operator's own image.
func (g *Gatherer) external(ctx context.Context, out *Gathered, problems *problem.Collector) {
	in := out.Inputs
	if g.Labels == nil || out.Settings == nil {
		return
	}
	providers := in.ExternalProviders()
	if len(providers) > 0 {
		in.OperatorImage = g.OperatorImage
		if g.OperatorImage == "" {
			problems.AddFound(noOperatorImage())
		}
	}
	in.Packages = map[string]serverconfig.PackageResult{}
	var images []string
	for i := range providers {
		image := providers[i].Image
		if _, known := in.Packages[image]; known || providers[i].Package != nil {
			continue
		}
		p := forbiddenImage(image, &out.Settings.Registries)
		in.Packages[image] = serverconfig.PackageResult{Problem: p}
		if p == nil {
			images = append(images, image)
		}
	}
	g.packages(ctx, out, images, problems)
}

// forbiddenImage returns why the operator does not read the image, or nil.
func forbiddenImage(image string, registries *settings.Registries) *problem.Problem {
	if p := build.CheckProviderImage(image); p != nil {
		return p
	}
	if registries.ReadsLabels() {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.ForbiddenBySettings, Path: pathExternal, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("the operator reads nothing from registries, so it does not know the package in image %s: "+
			"readLabels is false under %s in the ConfigMap %s", image, settings.KeyRegistries, settings.ConfigMapName),
		Fix: inlinePackage,
	})
}

// packages reads the package files in images from registries.
func (g *Gatherer) packages(ctx context.Context, out *Gathered, images []string, problems *problem.Collector) {
	in := out.Inputs
	user := client.ObjectKeyFromObject(in.CR)
	var requests []imagelabels.Request
	if len(images) > 0 {
		locations := make([]string, len(images))
		for i, image := range images {
			locations[i], _ = out.Settings.Registries.Mirrors.Rewrite(image)
		}
		keys, p := g.credentials(ctx, in.CR, pathExternal, &out.Settings.Registries, locations...)
		if p != nil {
			problems.AddFound(p)
			return
		}
		for i, location := range locations {
			requests = append(requests, imagelabels.Request{
				Image: location, Keys: keys[i], Registries: &out.Settings.Registries, Generation: in.CR.Generation,
			})
		}
	}
	results := g.Labels.Files(user, parse.PackageFile, requests)
	for i, result := range results {
		if result.Pending {
			out.setPending(result.Since)
			delete(in.Packages, images[i])
			continue
		}
		in.Packages[images[i]] = packageIn(images[i], result)
	}
}

func (o *Gathered) setPending(since time.Time) {
	if o.LabelsPending.IsZero() || since.Before(o.LabelsPending) {
		o.LabelsPending = since
	}
}

func packageIn(image string, result imagelabels.Result) serverconfig.PackageResult {
	if result.Err != nil {
		return serverconfig.PackageResult{Problem: packageProblem(image, result.Err)}
	}
	known, err := serverconfig.ReadPackage(result.Content)
	if err != nil {
		return serverconfig.PackageResult{Problem: problem.New(problem.Problem{
			Reason: problem.InvalidImage, Path: pathExternal, Type: field.ErrorTypeInvalid, Value: image,
			Detail: fmt.Sprintf("%s: %v", parse.PackageFile, err), Fix: "correct the file in the image, or " + inlinePackage,
			Err: err,
		})}
	}
	return serverconfig.PackageResult{Package: known}
}

func packageProblem(image string, err error) *problem.Problem {
	if file, ok := errors.AsType[*imagelabels.ContentError](err); ok {
		p := problem.Problem{
			Reason: problem.InvalidImage, Path: pathExternal, Type: field.ErrorTypeInvalid, Value: image, Err: err,
			Detail: fmt.Sprintf("%s could not be read: %v", parse.PackageFile, file.Err),
			Fix:    "use another image, or " + inlinePackage,
		}
		if registry.KindOf(err) == registry.NoFile {
			p.Detail = fmt.Sprintf("Missing %s in image %s", parse.PackageFile, image)
			p.Fix = "use an image with the package of a provider, or " + inlinePackage
		}
		return problem.New(p)
	}
	return partProvider.failed(image, err)
}

func noOperatorImage() *problem.Problem {
	return problem.New(problem.Problem{
		Reason: problem.UnsupportedByOperator, Path: pathExternal, Type: field.ErrorTypeForbidden,
		Detail: "the operator does not know its own image, which installs the packages of external providers",
		Fix: "ask the administrator to start the operator with --operator-image, or to set POD_NAME and POD_NAMESPACE " +
			"in its pod",
	})
}

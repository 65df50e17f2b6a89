// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const pathDistribution = "spec.distribution"

// fixRelease is the advice for a wrong or unknown server release.
const fixRelease = "set spec.distribution.version, or register the distribution with its serverVersion in the " +
	"ConfigMap " + settings.ConfigMapName

// unsupportedRelease returns the problem of a release older than all release lines; an existing Deployment stays.
func unsupportedRelease(dist *settings.Distribution) *problem.Problem {
	if dist.Standing != catalog.TooOld {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.UnsupportedRelease, Path: pathDistribution, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("the server in image %s is release %s (%s), and %s is the oldest supported release line; the "+
			"running server is not changed",
			dist.Image, dist.Release, dist.LineSource, catalog.Lines()[0]),
		Fix: "use a newer image, or if the server is newer than that, " + fixRelease,
	})
}

// newerRelease returns a warning about a release that the operator does not know.
func newerRelease(dist *settings.Distribution) *problem.Problem {
	if dist.Standing != catalog.Newer {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.UnknownServerLine, Severity: problem.Warning, Path: pathDistribution,
		Detail: fmt.Sprintf("this operator does not know server release %s of image %s: it is treated like release line "+
			"%s, the newest known one before it",
			dist.Release, dist.Image, dist.Line.Name),
		Fix: "use an operator that knows the release, or if the image contains another one, " + fixRelease,
	})
}

// removedImage returns a warning about an image that no registry has, before a pod on another node fails.
func removedImage(dist *settings.Distribution) *problem.Problem {
	organization := settings.RemovedFrom(dist.Image)
	if organization == "" {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.ImageNotAccessible, Severity: problem.Warning, Path: pathDistribution, Value: dist.Image,
		Detail: fmt.Sprintf("image %s cannot be pulled, because organization %s was removed from its registry: only nodes "+
			"that have the image can start pods", dist.Image, organization),
		Fix: settings.ImageAdvice,
	})
}

// unverifiedImage returns a warning about an image that may not be published, unless the Deployment already uses it.
func unverifiedImage(in *Inputs, dist *settings.Distribution) *problem.Problem {
	if dist.UnverifiedSource == "" || liveImage(in.Live, in.Legacy.ContainerName) == dist.Image {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.ImageNotAccessible, Severity: problem.Warning, Path: pathDistribution, Value: dist.Image,
		Detail: fmt.Sprintf("image %s may not be published (%s)", dist.Image,
			dist.UnverifiedSource), Fix: settings.ImageAdvice,
	})
}

// fixUnknownName is the advice for an unregistered name.
const fixUnknownName = "an administrator can register the name with a ConfigMap, as in " +
	settings.Sample + "; or use a known distribution, such as starter, with the release of the server in " +
	"spec.distribution.version"

// unknownName returns a warning about an unknown name for which the image of release 0.9 stays.
func unknownName(in *Inputs) *problem.Problem {
	if in.Distribution == nil || !in.Distribution.Adopted {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.UnknownDistribution, Severity: problem.Warning, Path: pathDistribution + ".name",
		Detail: fmt.Sprintf("distribution %s is not known to this operator: image %s of release 0.9 keeps running, and no "+
			"configuration can be generated", in.Distribution.Name, in.Distribution.Image),
		Fix: fixUnknownName,
	})
}

// baseProblem returns the problem of a distribution without base, with advice for an unknown name.
func baseProblem(in *Inputs, dist *settings.Distribution) *problem.Problem {
	p := missingBase(dist)
	if p == nil || in.Distribution == nil || !in.Distribution.Adopted {
		return p
	}
	return problem.New(problem.Problem{
		Reason: problem.UnknownDistribution, Path: pathDistribution + ".name", Type: field.ErrorTypeNotSupported,
		Value: in.Distribution.Name,
		Detail: "this spec needs a generated configuration, which needs a known distribution; the running server is not " +
			"changed",
		Fix: fixUnknownName,
	})
}

// missingBase returns the problem of a distribution for which no configuration can be generated.
func missingBase(dist *settings.Distribution) *problem.Problem {
	p := problem.Problem{Reason: problem.UnknownServerLine, Path: pathDistribution, Type: field.ErrorTypeInvalid,
		Fix: fixRelease}
	switch {
	case dist.Base == nil && dist.Line != nil && len(settings.EmbeddedLines(dist.Embedded)) > 0:
		p.Reason = problem.MissingConfigLabels
		p.Detail = fmt.Sprintf("%s has a base configuration for release lines %s, and none for release line %s of the "+
			"server in image %s (%s)",
			dist.Embedded, strings.Join(settings.EmbeddedLines(dist.Embedded), ", "), dist.Line.Name, dist.Image,
			dist.LineSource)
		p.Fix = "use another distribution, an image of one of these release lines, or `overrideConfig`, or register the " +
			"distribution with a base " +
			"configuration of its own in the operator's ConfigMap " +
			settings.ConfigMapName
	case dist.Base == nil:
		p.Reason = problem.MissingConfigLabels
		// See FR-027e in specs/requirements.md.
		p.Detail = fmt.Sprintf("Distribution image %s missing config labels. Add labels using `crane mutate` or use "+
			"`overrideConfig` to provide configuration manually. See docs/configuration.md for details.", dist.Image)
		p.Fix = "You can also register the image with its base configuration in the operator's ConfigMap " +
			settings.ConfigMapName
	case dist.Line != nil:
		return nil
	case len(dist.Candidates) > 0:
		p.Detail = fmt.Sprintf("the server release in image %s is not known, and its base configuration is ambiguous: it "+
			"could be of the release lines %s",
			dist.Image, strings.Join(dist.Candidates, ", "))
	default:
		p.Detail = fmt.Sprintf("the server release in image %s is not known, so no configuration can be generated for it",
			dist.Image)
	}
	return problem.New(p)
}

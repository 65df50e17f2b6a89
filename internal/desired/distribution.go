// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

func wrongDistribution(reason, message string) *fault.Fault {
	return &fault.Fault{Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: reason, Message: "spec.distribution: " + message}
}

// mendRelease tells what to do where the release of a server was read wrong or not at all.
const mendRelease = "register the distribution with its serverVersion in the ConfigMap " + settings.ConfigMapName

// tooOld tells of a server that no release line stands for: nothing is applied, and a Deployment that is there stays as it is.
func tooOld(dist *settings.Distribution) *fault.Fault {
	if dist.Standing != catalog.TooOld {
		return nil
	}
	return wrongDistribution(v1alpha2.ReasonUnsupported,
		fmt.Sprintf("the server in image %s is release %s (%s), and %s is the oldest supported line; what runs is left alone: use a newer image, or "+
			"where the server is newer than that %s", dist.Image, dist.Release, dist.LineSource, catalog.Lines()[0], mendRelease))
}

// newerRelease warns of a release that the operator does not know yet.
func newerRelease(dist *settings.Distribution) config.Findings {
	if dist.Standing != catalog.Newer {
		return nil
	}
	return config.Findings{{
		Code: config.UnknownRelease, Severity: config.Warning, Path: "spec.distribution",
		Message: fmt.Sprintf("this operator does not know server release %s of image %s: it is treated like line %s, the newest known one before it",
			dist.Release, dist.Image, dist.Line.Name),
		Mending: "use an operator that knows the release, or where the image holds another one " + mendRelease,
	}}
}

// missingBase tells what is missing for a configuration.
func missingBase(dist *settings.Distribution) *fault.Fault {
	switch {
	case dist.Base == nil && dist.Line != nil && len(settings.EmbeddedLines(dist.Embedded)) > 0:
		return wrongDistribution(v1alpha2.ReasonMissingConfigLabels,
			fmt.Sprintf("%s has a base configuration for release lines %s, and none for line %s of the server in image %s (%s): use another "+
				"distribution, an image of one of these lines, or `overrideConfig`, or register the distribution with a base configuration of its own "+
				"in the operator's ConfigMap %s",
				dist.Embedded, strings.Join(settings.EmbeddedLines(dist.Embedded), ", "), dist.Line.Name, dist.Image, dist.LineSource, settings.ConfigMapName))
	case dist.Base == nil:
		return &fault.Fault{
			Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonMissingConfigLabels,
			Message: fmt.Sprintf("Distribution image %s missing config labels. Add labels using `crane mutate` or use `overrideConfig` to provide "+
				"configuration manually. See docs/configuration.md for details. "+
				"This version of the operator does not read labels yet: use `overrideConfig`, or register the image with its base configuration "+
				"in the operator's ConfigMap %s.",
				dist.Image, settings.ConfigMapName),
		}
	case dist.Line != nil:
		return nil
	case len(dist.Dialects) > 1:
		return wrongDistribution(v1alpha2.ReasonUnknownServerLine,
			fmt.Sprintf("nothing tells the server release in image %s, and its base configuration could be of the lines %s, which is no answer: %s",
				dist.Image, strings.Join(dist.Dialects, ", "), mendRelease))
	default:
		return wrongDistribution(v1alpha2.ReasonUnknownServerLine,
			fmt.Sprintf("nothing tells the server release in image %s, so no configuration can be generated for it: %s", dist.Image, mendRelease))
	}
}

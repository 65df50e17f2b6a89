// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
)

type comparison struct {
	// improved are intended differences, changed those of other objects that the user has to know, different all others.
	improved, changed, different []string
	// restarts reports whether applying the result restarts pods.
	restarts bool
}

func compareEffective(before, after *offline.Resource, models []string) (*comparison, error) {
	old, err := difference.Effective(before.Desired)
	if err != nil {
		return nil, err
	}
	now, err := difference.Effective(after.Desired)
	if err != nil {
		return nil, err
	}
	report, err := difference.Between(before.Desired, after.Desired)
	if err != nil {
		return nil, err
	}
	p := &comparison{restarts: len(report.Restart) > 0}
	for _, c := range difference.CompareTrees(old, now) {
		text := c.Path + " is " + orAbsent(c.After) + ", and was " + orAbsent(c.Before)
		switch {
		case isCompleted(c):
			p.improved = append(p.improved, text+": an endpoint gets the path that the provider's API is at")
		case isModel(c, models):
			if model, ok := strings.CutSuffix(c.Path, ".provider_id"); ok {
				p.improved = append(p.improved, model+" is registered now: nothing read its variable")
			}
		case c.Path == "telemetry.enabled" && c.Before == "":
			p.improved = append(p.improved, text+": the server of this release line exports nothing without it")
		case isEmptyList(c) || isAddition(c):
		default:
			p.different = append(p.different, text)
		}
	}
	for _, o := range report.Objects {
		switch o.Kind {
		case "Deployment", "ConfigMap":
		case "NetworkPolicy":
			p.changed = append(p.changed, "NetworkPolicy "+o.Name+": "+o.Action+", for spec.networking.allowedFrom or the "+
				"port of the metrics")
		default:
			p.different = append(p.different, o.Kind+" "+o.Name+": "+o.Action)
		}
	}
	return p, nil
}

func orAbsent(text string) string {
	if text == "" {
		return "absent"
	}
	return text
}

// isCompleted reports whether only the API path was appended to an endpoint.
func isCompleted(c difference.Change) bool {
	return isAppended(c) && strings.Contains(c.Path, ".config.")
}

// isModel reports whether the change registers one of the models.
func isModel(c difference.Change, models []string) bool {
	return c.Before == "" && slices.ContainsFunc(models, func(model string) bool {
		return strings.HasPrefix(c.Path, "registered_resources.models["+model+"]")
	})
}

// additions are fields that each generated configuration has, whatever the distribution has.
var additions = []string{"server.port", "server.insecure", "image_name", "distro_name"}

// isAddition reports whether the operator adds the field to a configuration without it.
func isAddition(c difference.Change) bool {
	return c.Before == "" && slices.Contains(additions, c.Path)
}

// isEmptyList reports whether a list was or becomes empty; its items are separate changes.
func isEmptyList(c difference.Change) bool { return c.Before == "[]" || c.After == "[]" }

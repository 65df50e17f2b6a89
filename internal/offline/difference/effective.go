// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Effective returns the configuration with environment variables resolved, without disabled entries. Values of Secrets
// become references, and the image's own environment is unknown.
func Effective(d *build.Desired) (any, error) {
	config, err := readConfig(d)
	if err != nil {
		return nil, err
	}
	return Resolve(config, environmentOf(d)), nil
}

func environmentOf(d *build.Desired) map[string]string {
	values := map[string]string{}
	for _, o := range d.Objects {
		deployment, ok := o.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, v := range deployment.Spec.Template.Spec.Containers[0].Env {
			values[v.Name] = valueOf(v)
		}
	}
	return values
}

func valueOf(v corev1.EnvVar) string {
	if v.ValueFrom == nil {
		return v.Value
	}
	if ref := v.ValueFrom.SecretKeyRef; ref != nil {
		return "key " + ref.Key + " of Secret " + ref.Name
	}
	return "from elsewhere: " + v.Name
}

// Resolve returns JSON data with references to environment variables replaced by their values or defaults, with the
// home directory in paths, and without disabled entries of lists.
func Resolve(value any, env map[string]string) any {
	switch v := value.(type) {
	case map[string]any:
		resolved := maps.Clone(v)
		for key, each := range v {
			resolved[key] = Resolve(each, env)
		}
		return resolved
	case []any:
		resolved := make([]any, 0, len(v))
		for _, each := range v {
			if item := Resolve(each, env); !isDisabled(each, item) {
				resolved = append(resolved, item)
			}
		}
		return resolved
	case string:
		text := document.ReplaceReferences(v, func(ref document.Reference) string {
			switch set := env[ref.Name]; {
			case ref.Operator == document.IfSet && set != "":
				return ref.Value
			case ref.Operator == document.IfSet:
				return ""
			case set == "":
				return ref.Value
			default:
				return set
			}
		})
		if rest, ok := strings.CutPrefix(text, "~/"); ok && env["HOME"] != "" {
			return path.Join(env["HOME"], rest)
		}
		return text
	}
	return value
}

// isDisabled reports whether the server skips an entry because its id resolves to empty or to the disabling one.
func isDisabled(written, resolved any) bool {
	was, _ := written.(map[string]any)
	is, _ := resolved.(map[string]any)
	return slices.ContainsFunc([]string{"provider_id", "model_id", "shield_id"}, func(field string) bool {
		id, ok := is[field].(string)
		return ok && was[field] != nil && (id == "" || id == document.DisabledID)
	})
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/fields"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

type explanation struct {
	// Items are the topics with the name, at least one.
	Items []topic `json:"items"`
}

// topic is one explained item; exactly one field is set.
type topic struct {
	Field     *fields.Field       `json:"field,omitempty"`
	Provider  *providerType       `json:"provider,omitempty"`
	Condition *describe.Condition `json:"condition,omitempty"`
	Reason    *reason             `json:"reason,omitempty"`
	Alert     *alert              `json:"alert,omitempty"`
}

// lookup returns the explanation of a field path, provider type, condition, reason or alert, or of the only field with
// that last path element.
func lookup(tree *fields.Schema, name string) (*explanation, error) {
	result := &explanation{}
	if f, err := findField(tree, name); f != nil || err != nil {
		if err == nil {
			result.Items = append(result.Items, topic{Field: f})
		}
		return result, err
	}
	for _, c := range describe.Conditions() {
		if strings.EqualFold(c.Name, name) {
			result.Items = append(result.Items, topic{Condition: &c})
		}
	}
	for _, r := range findReasons(name) {
		result.Items = append(result.Items, topic{Reason: r})
	}
	providers, err := findProviders(name)
	if err != nil {
		return nil, err
	}
	for _, p := range providers {
		result.Items = append(result.Items, topic{Provider: p})
	}
	found, err := findAlert(name)
	if err != nil {
		return nil, err
	}
	if found != nil {
		result.Items = append(result.Items, topic{Alert: found})
	}
	if len(result.Items) > 0 {
		return result, nil
	}
	switch paths := tree.WithSuffix(name); len(paths) {
	case 0:
		return nil, unknown(name, tree)
	case 1:
		f, err := tree.Find(paths[0])
		return &explanation{Items: []topic{{Field: f}}}, err
	default:
		return nil, fmt.Errorf("several fields have the name %q: use the path of one of them:\n  %s", name,
			strings.Join(paths, "\n  "))
	}
}

// findField returns the field at a path of the storage version, otherwise of v1alpha1.
func findField(tree *fields.Schema, path string) (*fields.Field, error) {
	f, err := tree.Find(path)
	if err == nil {
		return f, nil
	}
	older, failed := fields.ReadOlder()
	if failed != nil {
		return nil, failed
	}
	f, olderErr := older.Find(path)
	if olderErr == nil {
		return f, nil
	}
	// An error below a field that only v1alpha1 has is one of v1alpha1.
	if parts := strings.SplitN(path, ".", 3); len(parts) == 3 {
		section := parts[0] + "." + parts[1]
		if _, isOlder := older.Find(section); isOlder == nil {
			if _, isNewer := tree.Find(section); isNewer != nil {
				return nil, olderErr
			}
		}
	}
	return nil, err
}

func unknown(name string, tree *fields.Schema) error {
	return fmt.Errorf("there is no field, provider type, condition, reason or alert %q: %suse a path such as "+
		"spec.workload.replicas, a type such as remote::vllm, a condition such as Ready, a reason such as SecretNotFound, "+
		"or an alert such as LlamaStackDistributionFailed",
		name, problem.DidYouMean(name, names(tree)))
}

// names returns all names, sorted, for suggestions and completion.
func names(tree *fields.Schema) []string {
	all := slices.Concat(tree.Paths(), conditionNames(), reasonNames(), providerNames(), alertNames())
	slices.Sort(all)
	return slices.Compact(all)
}

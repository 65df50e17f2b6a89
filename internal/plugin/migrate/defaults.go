// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// defaultFields are the fields of the file for those of spec.resources.defaults. The first one that is set counts.
var defaultFields = []struct {
	name  string
	paths [][]string
}{
	{"model", [][]string{
		{"vector_stores", "rewrite_query_params", "model"}, {"vector_stores", "contextual_retrieval_params", "model"},
	}},
	{"embeddingModel", [][]string{{"vector_stores", "default_embedding_model"}}},
	{"shield", [][]string{{"safety", "default_shield_id"}}},
}

// readDefaults reads the models and the shield for requests that name none.
func (m *fileMigration) readDefaults() {
	defaults := map[string]any{}
	var sources []string
	for _, field := range defaultFields {
		for _, path := range field.paths {
			text := defaultOf(m.value(document.Descend(m.file.Root(), path)))
			if text == "" || document.HasReference(text) {
				continue
			}
			if defaults[field.name] == nil {
				defaults[field.name], sources = text, append(sources, strings.Join(path, "."))
			}
		}
	}
	if len(defaults) > 0 {
		m.addUnlessSet(&piece{
			source: strings.Join(sources, ", "), field: []string{"spec", "resources", "defaults"}, value: defaults,
		})
	}
}

// defaultOf returns the default in a value of the file: the id of a shield, or <provider id>/<model id>.
func defaultOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case map[string]any:
		provider, _ := v["provider_id"].(string)
		model, _ := v["model_id"].(string)
		if provider != "" && model != "" {
			return provider + "/" + model
		}
	}
	return ""
}

func isDefaults(p *piece) bool {
	return p.field[1] == "resources" && p.field[len(p.field)-1] == "defaults"
}

// removeSameDefaults removes the defaults that the distribution has, too, and reports whether none is left.
func (m *fileMigration) removeSameDefaults(p *piece, file, distribution map[string]any) bool {
	defaults := p.value.(map[string]any)
	for _, field := range defaultFields {
		same := defaults[field.name] != nil
		for _, path := range field.paths {
			before, _, _ := unstructured.NestedFieldNoCopy(file, path...)
			after, _, _ := unstructured.NestedFieldNoCopy(distribution, path...)
			same = same && defaultOf(before) == defaultOf(after)
		}
		if same {
			delete(defaults, field.name)
		}
	}
	if len(defaults) == 0 {
		m.defaults = append(m.defaults, p.source)
	}
	return len(defaults) == 0
}

// dropDefault removes the default that is an error. It returns false if nothing else would be left.
func (m *fileMigration) dropDefault(p *piece, fault *problem.Problem) bool {
	name := strings.TrimPrefix(fault.Path, m.pathOf(p)+".")
	if name == "embeddingDimension" {
		name = "embeddingModel"
	}
	defaults := p.value.(map[string]any)
	if _, given := defaults[name]; !given || len(defaults) == 1 {
		return false
	}
	delete(defaults, name)
	m.drop("the default "+name, fault.Body())
	return true
}

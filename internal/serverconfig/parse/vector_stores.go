// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// parseVectorStores parses spec.resources.vectorStores. It repeats the schema's checks for converted objects.
func parseVectorStores(items []v1alpha2.VectorStore) ([]VectorStore, problem.List) {
	var stores []VectorStore
	var problems problem.List
	first := make(map[string]string, len(items))
	for i := range items {
		item, path := &items[i], field.NewPath("spec", "resources", "vectorStores").Index(i)
		s := VectorStore{
			Name: item.Name, Provider: ptr.Deref(item.Provider, ""), EmbeddingModel: item.EmbeddingModel,
			ProviderVectorStoreID: ptr.Deref(item.ProviderVectorStoreID, ""), Path: path.String(),
		}
		if item.EmbeddingDimension != nil {
			s.EmbeddingDimension = new(int64(*item.EmbeddingDimension))
			if *s.EmbeddingDimension < 1 {
				problems = append(problems, invalid(path.Child("embeddingDimension"), "must be at least 1", "for example "+
					"embeddingDimension: 768"))
			}
		}
		if s.Name == "" {
			problems = append(problems, missing(path.Child("name"), "", "for example name: handbook"))
		} else if at, twice := first[s.Name]; twice {
			problems = append(problems, newProblem(problem.Problem{
				Reason: problem.ConflictingFields, Path: path.Child("name").String(), Type: field.ErrorTypeDuplicate, Value: s.Name,
				Detail: "duplicates the vector store of " + at, Fix: "remove one of them",
			}))
			continue
		}
		if s.EmbeddingModel == "" {
			problems = append(problems, missing(path.Child("embeddingModel"), "", "name a model of spec.resources.models with "+
				"modelType: embedding"))
		}
		first[s.Name] = s.Path
		stores = append(stores, s)
	}
	return stores, problems
}

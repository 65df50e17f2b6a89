// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"

	reference "github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// KeyModelCache is the key of a YAML map with the image of the model cache of all servers.
const KeyModelCache = "modelCache"

// parseModelCache returns the image of the model cache; empty without one.
func parseModelCache(text string) (string, error) {
	var cache struct {
		Image string `json:"image"`
	}
	err := decode([]byte(text), &cache)
	if err == nil && cache.Image != "" {
		if _, failure := reference.ParseReference(cache.Image); failure != nil {
			err = field.Invalid(field.NewPath("image"), limits.Message(cache.Image), "must be the reference of an image, "+
				"such as registry.example.com/models:1")
		}
	}
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, KeyModelCache, err)
	}
	return cache.Image, nil
}

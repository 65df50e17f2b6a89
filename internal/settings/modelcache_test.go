// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R107.
func TestModelCacheOfTheSettings(t *testing.T) {
	for text, want := range map[string]string{"": "", "{}": "", "image: registry.example.com/ai/models:1": "registry.example.com/ai/models:1"} {
		if s := parse(t, map[string]string{settings.KeyModelCache: text}); s.ModelCacheImage != want {
			t.Errorf("%q: %s", text, s.ModelCacheImage)
		}
	}
	for text, want := range map[string]string{
		"image: 'A B'":      `ConfigMap llama-stack-operator-config, key modelCache: image: Invalid value: "A B": must be the reference of an image`,
		"claimName: models": "key modelCache: claimName: unknown field",
		"models":            "key modelCache: ",
	} {
		if _, err := settings.Parse(map[string]string{settings.KeyModelCache: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

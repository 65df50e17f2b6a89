// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	imagename "github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Proves: R63, R7 (no panic, bounded results from the first Secret with credentials, and no quotes in errors).
func FuzzPullSecret(f *testing.F) {
	for _, seed := range []string{
		`{"auths":{"registry.example.com":{"username":"u","password":"p"}}}`, `{"auths":{"registry.example.com/team":{"auth":"dTpw"},"*.example.com":{"identitytoken":"t"}}}`,
		`{"https://registry.example.com/v1/":{"auth":"dTpw"}}`, `{"auths":{"registry.example.com":{"registrytoken":"` + strings.Repeat("t", limits.CredentialBytes+1) + `"}}}`,
		`{"auths":{"[":{},"%":{},"registry.example.com:443":{"auth":"!"}}}`, `{"auths":[`, `{"auths":null,"auths":{"":{}}}`, "", "null", strings.Repeat(`{"a":`, 200),
	} {
		f.Add([]byte(seed), "registry.example.com/team/server:1", false)
		f.Add([]byte(seed), "team/server@sha256:"+strings.Repeat("0a", 32), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, image string, older bool) {
		s := &corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: text}}
		if older {
			s.Type, s.Data = corev1.SecretTypeDockercfg, map[string][]byte{corev1.DockerConfigKey: text}
		}
		ref, parseErr := imagename.ParseReference(image)
		at := ""
		if parseErr == nil {
			at = ref.Context().String()
		}
		first := authn.FromConfig(authn.AuthConfig{Username: "first"})
		found, values := []credentials{nil, {at: first}}, 100
		err := resolve(t.Context(), s, nil, []string{image, image}, found, &values)
		if values < 0 || values > 100 || found[1][at] != first {
			t.Errorf("%d values are left, and %v replaces what was found before", values, found[1])
		}
		if err != nil && (found[0] != nil || !strings.HasPrefix(err.Error(), "it has more than ") && !strings.HasPrefix(err.Error(), "the Secrets with credentials") &&
			!strings.HasPrefix(err.Error(), "the credentials for the registry of image "+limits.Message(image)+" have more than ")) {
			t.Errorf("%v, %v", found[0], err)
		}
		if found[0] == nil {
			return
		}
		who, err := found[0].Resolve(ref.Context())
		if err != nil {
			t.Fatal(err)
		}
		config, err := who.Authorization()
		if err != nil {
			t.Fatal(err)
		}
		if size := len(config.Username) + len(config.Password) + len(config.IdentityToken) + len(config.RegistryToken); size > limits.CredentialBytes || config.Auth != "" {
			t.Errorf("%d bytes are kept", size)
		}
	})
}

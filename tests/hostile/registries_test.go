// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	// registries is the namespace of resources whose images are in registries that lie.
	registries = "registries"
	// settingsName is the ConfigMap of the operator's settings.
	settingsName = "llama-stack-operator-config"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

// lyingImage is what a registry sends for an image: a manifest or an index, and a configuration.
type lyingImage struct{ name, mediaType, manifest, config, want, password string }

func lyingImages() []lyingImage {
	const items = 850_000 // 2.5 MB
	empty := list(items, "{}")
	config := `{"architecture":"amd64","os":"linux","history":` + empty + `}`
	smaller := `{"history":` + list(items/2, "{}") + `}`
	embedded := `,"data":"` + base64.StdEncoding.EncodeToString([]byte(smaller)) + `"`
	const wide, deep, large = "more than 10000 values", "more than 32 levels", "too large"
	return []lyingImage{
		{"wide manifest", manifestType, lyingManifest("{}", "", empty), "{}", wide, ""},
		{"wide configuration", manifestType, lyingManifest(config, "", "[]"), config, wide, ""},
		{"wide configuration in the manifest", manifestType, lyingManifest(smaller, embedded, "[]"), smaller, wide, ""},
		{"wide index", indexType, `{"schemaVersion":2,"manifests":` + empty + `}`, "", wide, ""},
		{"deep manifest", manifestType, lyingManifest("{}", "", nest(9_000, "0")), "{}", deep, ""},
		{"manifest of 5 MiB", manifestType, lyingManifest("{}", "", `["`+strings.Repeat("a", 5<<20)+`"]`), "{}", large, ""},
	}
}

func sha256Digest(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

func lyingManifest(config, more, layers string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":%q%s},"layers":%s}`,
		manifestType, len(config), sha256Digest(config), more, layers)
}

// ServeHTTP answers as a registry with this one image.
func (i *lyingImage) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	_, password, _ := request.BasicAuth()
	switch {
	case password != i.password:
		to.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		to.WriteHeader(http.StatusUnauthorized)
	case strings.Contains(request.URL.Path, "/manifests/"):
		to.Header().Set("Content-Type", i.mediaType)
		_, _ = io.WriteString(to, i.manifest)
	case strings.Contains(request.URL.Path, "/blobs/"):
		_, _ = io.WriteString(to, i.config)
	default:
		_, _ = io.WriteString(to, "{}")
	}
}

// registryInputs are one input that is all registries at once, and the answers to each.
func registryInputs() []input {
	said := map[string]string{}
	all := []input{{name: "all of them at once", want: []string{"registries were asked"}, send: func(t *testing.T, w *world) (string, error) { return w.runRegistries(t, said) }}}
	for _, image := range lyingImages() {
		name := image.name
		all = append(all, input{name: name, want: []string{"InvalidImage", image.want}, send: func(*testing.T, *world) (string, error) {
			if said[name] == "" {
				return "", errors.New(`the input "all of them at once" has no answer`)
			}
			return said[name], nil
		}})
	}
	return all
}

func (w *world) runRegistries(t *testing.T, said map[string]string) (string, error) {
	t.Helper()
	w.namespace(t, registries)
	const providers = `"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}}` // without any, no labels are needed
	images := lyingImages()
	addresses := make([]string, len(images))
	password, auths := w.canaries.New(), map[string]map[string]string{}
	for i := range images {
		images[i].password = password
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		server := &http.Server{Handler: &images[i], ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(func() { _ = server.Close() })
		addresses[i] = listener.Addr().String()
		auths[addresses[i]] = map[string]string{"username": "pull", "password": password}
	}
	text, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		return "", err
	}
	w.create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: registries, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: text},
	})
	w.configMap(t, operatorNamespace, settingsName, map[string]string{"registries": "plainHTTP: [\"" + strings.Join(addresses, `", "`) + "\"]\n"})
	for i := range images {
		id := fmt.Sprint("image-", i)
		body := resource("v1alpha2", id, fmt.Sprintf(`"distribution":{"image":"%s/team/server:1"},"workload":{"imagePullSecrets":[{"name":"pull"}]},`+providers, addresses[i]))
		if denied, err := w.store(t, "v1alpha2", registries, id, body); denied != "" || err != nil {
			return denied, err
		}
	}
	for i := range images {
		text, err := w.awaitReason(t.Context(), registries, fmt.Sprint("image-", i), "InvalidImage")
		if err != nil {
			return text, fmt.Errorf("%s: %w", images[i].name, err)
		}
		said[images[i].name] = text
	}
	return fmt.Sprintf("%d registries were asked", len(images)), w.operator.alive()
}

// awaitReason waits until a condition of a resource has a reason, and returns the condition.
func (w *world) awaitReason(ctx context.Context, namespace, name, reason string) (string, error) {
	var text string
	err := fixture.Poll(ctx, 2*time.Minute, func() error {
		if err := w.operator.alive(); err != nil {
			return nil //nolint:nilerr // no use to wait; the caller looks, too
		}
		o, err := w.observe(ctx, namespace, name)
		if err != nil {
			return err
		}
		for _, c := range o.status.Conditions {
			if c.Reason == reason {
				text = fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				return nil
			}
		}
		return fmt.Errorf("no condition has the reason %s: %+v", reason, o.status.Conditions)
	})
	return text, err
}

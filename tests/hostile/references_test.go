// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// largeObjects is the number of Secrets and of ConfigMaps of nearly 1 MB, and atOnce that of resources that refer to
	// all of them.
	largeObjects, atOnce = 20, 8
	// silentImages is the number of images at a silent registry in each of silentResources resources.
	silentImages, silentResources = 20, 13
	tooLarge                      = "TooLarge"
)

// referenceInputs are Secrets and ConfigMaps that exceed the limits together, and registries that a resource may name.
func referenceInputs() []input {
	return []input{
		{name: "16 pull secrets of 65000 registries", want: []string{tooLarge, "spec.workload.imagePullSecrets[0]", "more than 10000 values"}, send: pullSecrets(65_000)},
		{name: "16 pull secrets of 3000 registries", want: []string{tooLarge, "spec.workload.imagePullSecrets[3]", "more than 10000 values"}, send: pullSecrets(3_000)},
		{name: "20 ConfigMaps of 900 KB, 8 times", want: []string{tooLarge, "more than 8388608 bytes"}, send: largeVolumes("configMap", "name", largeObjects)},
		{name: "20 Secrets of 900 KB, 8 times", want: []string{tooLarge, "more than 8388608 bytes"}, send: largeVolumes("secret", "secretName", largeObjects)},
		{name: "one Secret of 900 KB in 900 volumes, 8 times", want: []string{tooLarge, "more than 8388608 bytes"}, send: largeVolumes("secret", "secretName", 1)},
		{name: "260 images of a silent registry", want: []string{"another namespace has its answer", "InvalidImage"}, send: silentRegistry},
		{name: "label of 1 MB", want: []string{"InvalidImage", "is longer than 1024 bytes"}, send: labeled("com.ogx.distribution.version", "1.4.0-"+strings.Repeat("a", 1_000_000))},
		{name: "path of 1 MB in a label", want: []string{"InvalidImage", "is longer than 1024 bytes"}, send: labeled("io.llamastack.config.path", strings.Repeat("a/", 500_000))},
		{name: "token service that answers with a document", want: []string{"RegistryUnavailable", "the response is not from a registry"}, send: talkative},
	}
}

// pullSecrets is a resource with 16 Secrets, each with credentials for the number of registries.
func pullSecrets(registries int) func(*testing.T, *world) (string, error) {
	return func(t *testing.T, w *world) (string, error) {
		id := identifier(fmt.Sprint("pull secrets ", registries))
		auths := map[string]struct{}{}
		for n := range registries {
			auths[fmt.Sprintf("r%d.io", n)] = struct{}{}
		}
		text, err := json.Marshal(map[string]any{"auths": auths})
		if err != nil {
			return "", err
		}
		var names []string
		for n := range 16 {
			s := &corev1.Secret{
				ObjectMeta: meta(fmt.Sprintf("%s-%d", id, n)), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: text},
			}
			w.createFor(t, s)
			names = append(names, fmt.Sprintf(`{"name":%q}`, s.Name))
		}
		spec := `"distribution":{"image":"registry.example.com/team/server:1"},"workload":{"imagePullSecrets":[` + strings.Join(names, ",") + `]},` +
			`"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}}`
		return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, spec), tooLarge)
	}
}

func (w *world) createFor(t *testing.T, o client.Object) {
	t.Helper()
	w.create(t, o)
	t.Cleanup(func() {
		if err := w.admin.Delete(context.WithoutCancel(t.Context()), o); err != nil {
			t.Error(err)
		}
	})
}

// largeVolumes creates resources at once, each with 900 volumes of all large objects.
func largeVolumes(kind, field string, objects int) func(*testing.T, *world) (string, error) {
	return func(t *testing.T, w *world) (string, error) {
		id := identifier(fmt.Sprint(kind, " ", objects))
		text := strings.Repeat("a", 900_000)
		for n := range objects {
			about := meta(fmt.Sprintf("%s-%d", id, n))
			if kind == "secret" {
				w.createFor(t, &corev1.Secret{ObjectMeta: about, StringData: map[string]string{"text": text}})
			} else {
				w.createFor(t, &corev1.ConfigMap{ObjectMeta: about, Data: map[string]string{"text": text}})
			}
		}
		var volumes []string
		for n := range 900 {
			volumes = append(volumes, fmt.Sprintf(`{"name":"v%d",%q:{%q:"%s-%d"}}`, n, kind, field, id, n%objects))
		}
		spec := starter + `,"workload":{"overrides":{"volumes":[` + strings.Join(volumes, ",") + `]}}`
		for n := range atOnce {
			name := fmt.Sprint(id, "-", n)
			if denied, err := w.store(t, "v1alpha2", namespace, name, resource("v1alpha2", name, spec)); denied != "" || err != nil {
				return denied, err
			}
		}
		var said string
		for n := range atOnce {
			var err error
			if said, err = w.verdict(t.Context(), namespace, fmt.Sprint(id, "-", n), tooLarge); err != nil {
				return said, err
			}
		}
		return said, nil
	}
}

// allow lets the operator use registries without TLS.
func (w *world) allow(t *testing.T, addresses ...string) {
	t.Helper()
	w.configMap(t, framework.OperatorNamespace, settingsName, map[string]string{"registries": `plainHTTP: ["` + strings.Join(addresses, `","`) + "\"]\n"})
}

// silentRegistry makes resources use many images of a registry that accepts connections and never responds, while
// another user uses another registry. The operator must not repeat pending requests.
func silentRegistry(t *testing.T, w *world) (string, error) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = silent.Close() })
	var connections atomic.Int64
	go func() {
		for {
			if _, err := silent.Accept(); err != nil {
				return
			}
			connections.Add(1)
		}
	}()
	other := httptest.NewServer(packageRegistry(layerWith("etc/passwd", "a", 1)))
	t.Cleanup(other.Close)
	answers := strings.TrimPrefix(other.URL, "http://")
	w.allow(t, silent.Addr().String(), answers)
	provider := func(host string, n, of int) string {
		return fmt.Sprintf(`{"providerId":"p%d","image":"%s/team/provider:%d"}`, n, host, of*silentImages+n)
	}
	for n := range silentResources {
		var all []string
		for p := range silentImages {
			all = append(all, provider(silent.Addr().String(), p, n))
		}
		id := fmt.Sprint("silent-", n)
		spec := starter + `,"externalProviders":{"inference":[` + strings.Join(all, ",") + `]}`
		if denied, err := w.store(t, "v1alpha2", namespace, id, resource("v1alpha2", id, spec)); denied != "" || err != nil {
			return denied, err
		}
	}
	if err := framework.Poll(t.Context(), answerWithin, func() error {
		if connections.Load() == 0 {
			return errors.New("the silent registry is not asked")
		}
		return w.operator.alive()
	}); err != nil {
		return "", err
	}
	began, before := time.Now(), connections.Load()
	id := "answered"
	spec := starter + `,"externalProviders":{"inference":` + provider(answers, 0, 0) + `}`
	said, err := w.send(t, "v1alpha2", bystanders, id, resource("v1alpha2", id, spec), "InvalidImage")
	if err != nil {
		return said, err
	}
	// A namespace has four requests at once, each for up to a minute and with one HTTPS and one HTTP connection.
	most := int64(16 * (1 + time.Since(began)/time.Minute))
	if asked := connections.Load() - before; asked > most {
		return said, fmt.Errorf("%d connections to the silent registry in %s, want at most %d", asked, time.Since(began), most)
	}
	return "another namespace has its answer: " + said, nil
}

func labeled(name, value string) func(*testing.T, *world) (string, error) {
	return func(t *testing.T, w *world) (string, error) {
		config, err := json.Marshal(map[string]any{"architecture": "amd64", "os": "linux", "config": map[string]any{"Labels": map[string]string{name: value}}})
		if err != nil {
			return "", err
		}
		return w.askFor(t, identifier("label "+name), &lyingImage{manifest: lyingManifest(string(config), "", "[]"), config: string(config)}, "InvalidImage")
	}
}

// askFor returns the condition of a resource whose image is in a registry.
func (w *world) askFor(t *testing.T, id string, registry http.Handler, want string) (string, error) {
	t.Helper()
	server := httptest.NewServer(registry)
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	w.allow(t, host)
	spec := `"distribution":{"image":"` + host + `/team/server:1"},"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}}`
	if denied, err := w.store(t, "v1alpha2", namespace, id, resource("v1alpha2", id, spec)); denied != "" || err != nil {
		return denied, err
	}
	return w.awaitReason(t.Context(), namespace, id, want)
}

// talkative is a registry whose token service responds with a secret document, which only the operator may see.
func talkative(t *testing.T, w *world) (string, error) {
	inner := w.canaries.New()
	return w.askFor(t, "talkative", http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/token" {
			_, _ = io.WriteString(to, `{"password":"`+inner+`"}`)
			return
		}
		to.Header().Set("WWW-Authenticate", `Bearer realm="http://`+request.Host+`/token",service="s"`)
		to.WriteHeader(http.StatusUnauthorized)
	}), "RegistryUnavailable")
}

type lyingImage struct{ manifest, config string }

func (i *lyingImage) ServeHTTP(to http.ResponseWriter, request *http.Request) {
	switch {
	case strings.Contains(request.URL.Path, "/manifests/"):
		to.Header().Set("Content-Type", manifestType)
		_, _ = io.WriteString(to, i.manifest)
	case strings.Contains(request.URL.Path, "/blobs/"):
		_, _ = io.WriteString(to, i.config)
	default:
		_, _ = io.WriteString(to, "{}")
	}
}

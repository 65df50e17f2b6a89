// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// modelServers is the CRD of KServe's objects without a schema.
const modelServers = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: inferenceservices.serving.kserve.io}
spec:
  group: serving.kserve.io
  scope: Namespaced
  names: {kind: InferenceService, plural: inferenceservices, singular: inferenceservice}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const endpointFrom = starter + `,"providers":{"inference":{"provider":"vllm","endpointFrom":{"kind":"%s","name":"%s"}}}`

// endpointInputs are other users' objects from which a resource takes a provider's address.
func endpointInputs() []input {
	single := func(url string) string { return `"status":{"address":{"url":"` + url + `"}}` }
	const notPlain = "not a plain URL"
	all := []input{{name: "objects of somebody else can be created", want: []string{"created"}, send: func(t *testing.T, w *world) (string, error) {
		file := filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(file, []byte(modelServers), 0o600); err != nil {
			return "", err
		}
		w.in(t, metav1.NamespaceDefault).Kubectl("apply", "-f", file)
		w.in(t, metav1.NamespaceDefault).Kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/inferenceservices.serving.kserve.io")
		return "created", nil
	}}}
	for _, c := range []struct{ name, content, want string }{
		{"address that reads the environment", single("http://a/${env.LLSD_VLLM_API_KEY}"), notPlain},
		{"address with a password", single("http://user:password@a"), notPlain},
		{"address of a script", single("javascript:alert(1)"), notPlain},
		{"address of two lines", single(`http://a/\nb`), notPlain},
		{"address of another host", single("http://evil.example.com"), "outside of the cluster"},
		{"address of a cloud's metadata", single("http://169.254.169.254/latest"), "outside of the cluster"},
		{"address of 1 MB", single("http://" + strings.Repeat("a", 1_000_000)), "more than 262144 bytes"},
		{"status of 20000 values", `"status":` + list(20_000, "0"), "which is not read"},
		{"status of 1000 levels", `"status":` + nest(1000, "0"), "32 levels"},
		{"spec of 200000 values", `"spec":` + list(200_000, "{}") + "," + single("http://a.b.svc"), accepted},
		{"spec of 9000 levels", `"spec":` + nest(9_000, "0") + "," + single("http://a.b.svc"), accepted},
	} {
		all = append(all, input{name: "model server: " + c.name, want: []string{c.want}, send: func(t *testing.T, w *world) (string, error) {
			id := identifier(c.name)
			code, answer, err := w.ask(t.Context(), http.MethodPost, "/apis/serving.kserve.io/v1beta1/namespaces/"+namespace+"/inferenceservices",
				fmt.Appendf(nil, `{"apiVersion":"serving.kserve.io/v1beta1","kind":"InferenceService","metadata":{"name":%q},%s}`, id, c.content))
			if err != nil || code != http.StatusCreated {
				return denial(code, answer), err
			}
			return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, fmt.Sprintf(endpointFrom, parse.KindInferenceService, id)), c.want)
		}})
	}
	return append(all, input{name: "200 Services of 250 KB beside that of an endpoint", want: []string{accepted}, send: func(t *testing.T, w *world) (string, error) {
		err := <-framework.Parallel(200, func(i int) error {
			s := &corev1.Service{ObjectMeta: meta(fmt.Sprint("large-", i)), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "a.example.com"}}
			if i == 0 {
				s.Spec = corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}
			}
			s.Annotations = map[string]string{"a": strings.Repeat("a", 250_000)}
			return w.admin.Create(t.Context(), s)
		})
		if err != nil {
			return "", err
		}
		const id = "h-large-services"
		return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, fmt.Sprintf(endpointFrom, parse.KindService, "large-0")))
	}})
}

// registrationInputs are ConfigMaps that register distributions beyond the limits of number and size.
func registrationInputs() []input {
	register := func(name string, count int, config, want string) input {
		return input{name: name, want: []string{"InvalidOperatorSettings", want}, send: func(t *testing.T, w *world) (string, error) {
			id := identifier(name)
			err := <-framework.Parallel(count, func(i int) error {
				distribution := fmt.Sprintf("%s-%04d", id, i)
				return w.admin.Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: distribution, Labels: map[string]string{settings.LabelDistribution: distribution}},
					Data:       map[string]string{"image": "quay.io/a/b:0.7.1", "config.yaml": config},
				})
			})
			defer func() {
				_ = w.admin.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(framework.OperatorNamespace), client.HasLabels{settings.LabelDistribution})
			}()
			if err != nil {
				return "", err
			}
			last := fmt.Sprintf(`"distribution":{"name":"%s-%04d"}`, id, count-1)
			return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, last), want)
		}}
	}
	const small = "version: 2\nproviders: {}\n"
	return []input{
		register("1000 ConfigMaps that register", 1000, small, "more than 100 ConfigMaps"),
		register("20 registrations of 90000 values", 20, small+"x: ["+strings.Repeat("a,", 90_000)+"a]\n", "exceed 20 MB of memory together"),
		register("20 registrations of 1 MB", 20, small+"x: ["+strings.Repeat(strings.Repeat("a", 30)+",", 30_000)+"a]\n", "exceed 20 MB of memory together"),
		register("100 registrations of one text of 900 KB", 100, small+"x: "+strings.Repeat("a", 900_000)+"\n", "exceed 20 MB of memory together"),
	}
}

// packageInputs are images of external providers with a false package description.
func packageInputs() (all []input) {
	begin := "apiVersion: llamastack.io/v1alpha1\nkind: ProviderPackage\nmetadata: {name: n, version: '1', vendor: v}\nspec: {packageName: a, providerType: 'remote::a', api: inference, wheelPath: a.whl"
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for at := 'b'; at < 'i'; at++ {
		former := "*" + string(at-1)
		bomb += fmt.Sprintf("%c: &%c [%s]\n", at, at, strings.Repeat(former+",", 8)+former)
	}
	for _, c := range []struct {
		name, want string
		layer      []byte
	}{
		{"no archive", "is not a tar archive", []byte(strings.Repeat("garbage", 1000))},
		{"no file", "Missing /lls-provider/lls-provider-spec.yaml", layerWith("etc/passwd", "a", 1)},
		{"file of 10 MB", "too large", layerWith(parse.PackageFile, strings.Repeat("a", 1000), 10_000)},
		{"file of 100 KB", "is larger than 65536 bytes", layerWith(parse.PackageFile, "a", 100_000)},
		{"layer of 1 GiB of zeros", "too large", layerWith("zeros", strings.Repeat("\x00", 1<<20), 1<<10)},
		{"aliases", "too large", layerWith(parse.PackageFile, bomb, 1)},
		{"deep file", "", layerWith(parse.PackageFile, nest(5_000, "0"), 1)},
		{"wheel outside of its directory", "is not a wheel below", layerWith(parse.PackageFile, strings.Replace(begin, "a.whl", "/etc/a.whl", 1)+"}", 1)},
		{"5000 wheels", "at most 500 wheels", layerWith(parse.PackageFile, begin+", dependencyWheels: ["+strings.Repeat("a.whl,", 5_000)+"]}", 1)},
		{"module that is code", "is not the name of a Python package", layerWith(parse.PackageFile, strings.Replace(begin, "packageName: a", `packageName: "a;import os"`, 1)+"}", 1)},
	} {
		all = append(all, input{name: "package: " + c.name, want: []string{"InvalidImage", c.want}, send: func(t *testing.T, w *world) (string, error) {
			registry := httptest.NewServer(packageRegistry(c.layer))
			t.Cleanup(registry.Close)
			host := strings.TrimPrefix(registry.URL, "http://")
			w.configMap(t, framework.OperatorNamespace, settingsName, map[string]string{"registries": fmt.Sprintf("plainHTTP: [%q]\n", host)})
			id := identifier("package " + c.name)
			spec := starter + `,"externalProviders":{"inference":{"providerId":"mine","image":"` + host + `/team/provider:1"}}`
			return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, spec), c.want, "InvalidImage")
		}})
	}
	return all
}

// packageRegistry returns a registry with one image of one layer.
func packageRegistry(layer []byte) http.Handler {
	const config = "{}"
	digest := sha256Digest(string(layer))
	manifest := lyingManifest(config, "", fmt.Sprintf(`[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","size":%d,"digest":%q}]`, len(layer), digest))
	return http.HandlerFunc(func(to http.ResponseWriter, request *http.Request) {
		switch {
		case strings.Contains(request.URL.Path, "/manifests/"):
			to.Header().Set("Content-Type", manifestType)
			_, _ = io.WriteString(to, manifest)
		case strings.HasSuffix(request.URL.Path, digest):
			_, _ = to.Write(layer)
		default:
			_, _ = io.WriteString(to, config)
		}
	})
}

// layerWith returns a layer with one file, whose content is the text repeated times times.
func layerWith(file, text string, times int) []byte {
	var packed bytes.Buffer
	zipped, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	archive := tar.NewWriter(zipped)
	err := archive.WriteHeader(&tar.Header{Name: file, Size: int64(len(text) * times), Mode: 0o644})
	for range times {
		if err == nil {
			_, err = io.WriteString(archive, text)
		}
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = zipped.Close()
	}
	if err != nil {
		panic(err)
	}
	return packed.Bytes()
}

func sha256Digest(text string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))) }

const manifestType = "application/vnd.oci.image.manifest.v1+json"

func lyingManifest(config, more, layers string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":%d,"digest":%q%s},"layers":%s}`,
		manifestType, len(config), sha256Digest(config), more, layers)
}

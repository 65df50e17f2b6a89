// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/externalprovider"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// registryUser and registryPassword are the credentials for the repositories below registryPrivate of the cluster's
	// registry.
	registryUser, registryPassword = "cluster", "cluster"
	registryPrivate                = "private/"
	pullSecret                     = "registry-pull"
)

// externalStack returns a stack in a namespace with credentials for the cluster's registry.
func externalStack(t *testing.T) stack {
	t.Helper()
	s := stack{namespace: "external", name: "with-packages"}
	namespace(t, s.namespace)
	s.in(t).Apply(fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","type":%q,"metadata":{"name":%q},"stringData":{%q:%q}}`,
		corev1.SecretTypeDockerConfigJson, pullSecret, corev1.DockerConfigJsonKey,
		fmt.Sprintf(`{"auths":{%q:{"username":%q,"password":%q}}}`, cluster.Registry, registryUser, registryPassword)))
	return s
}

// pushPrivate pushes an image to a repository that requires credentials, and returns its reference.
func pushPrivate(t *testing.T, repository string, image v1.Image) string {
	t.Helper()
	reference := cluster.Registry + "/" + registryPrivate + repository
	ref, err := name.ParseReference(reference, name.Insecure)
	framework.NoError(t, err)
	direct := remote.WithTransport(&http.Transport{}) // no proxy knows the cluster
	if err := remote.Write(ref, image, remote.WithContext(t.Context()), direct); err == nil {
		t.Fatalf("%s is open to everybody", reference)
	}
	as := remote.WithAuth(&authn.Basic{Username: registryUser, Password: registryPassword})
	framework.NoError(t, remote.Write(ref, image, remote.WithContext(t.Context()), direct, as))
	return reference
}

// scratchImage returns an image with only these files, each in its own layer.
func scratchImage(t *testing.T, files map[string][]byte) v1.Image {
	t.Helper()
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH})
	framework.NoError(t, err)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		var packed bytes.Buffer
		w := tar.NewWriter(&packed)
		err := w.WriteHeader(&tar.Header{Name: strings.TrimPrefix(file, "/"), Mode: 0o644, Size: int64(len(files[file])), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = w.Write(files[file])
		}
		if err = errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil })
		framework.NoError(t, err)
		image, err = mutate.AppendLayers(image, layer)
		framework.NoError(t, err)
	}
	return image
}

// tinyImage pushes an image with one of the tiny provider's packages, after a change of its files.
func tinyImage(t *testing.T, tag string, kind externalprovider.Kind, change func(map[string][]byte)) string {
	t.Helper()
	files, err := externalprovider.Files(kind, "1.0.0")
	framework.NoError(t, err)
	if change != nil {
		change(files)
	}
	return pushPrivate(t, "tiny:"+tag, scratchImage(t, files))
}

// brokenImage pushes an image with an inference package whose provider module has this text.
func brokenImage(t *testing.T, tag, text string) string {
	t.Helper()
	const dist = "broken-1.0.0"
	var wheel bytes.Buffer
	w := zip.NewWriter(&wheel)
	for _, file := range [][2]string{
		{"broken/__init__.py", ""}, {"broken/provider.py", text}, {dist + ".dist-info/METADATA", "Metadata-Version: 2.1\nName: broken\nVersion: 1.0.0\n"},
	} {
		to, err := w.Create(file[0])
		if err == nil {
			_, err = io.WriteString(to, file[1])
		}
		framework.NoError(t, err)
	}
	framework.NoError(t, w.Close())
	own := strings.Replace(externalprovider.WheelName("1.0.0"), "tiny_provider-1.0.0", dist, 1)
	kind := externalprovider.Kind{API: "inference", Module: "broken", Type: "remote::tiny", Fields: "{endpoint: base_url}"}
	spec := strings.Replace(string(externalprovider.Spec(kind, "1.0.0")), externalprovider.WheelName("1.0.0"), own, 1)
	return pushPrivate(t, "tiny:"+tag, scratchImage(t, map[string][]byte{parse.PackageFile: []byte(spec), parse.WheelsDir + "/" + own: wheel.Bytes()}))
}

func labeledImage(t *testing.T, r *release) string {
	t.Helper()
	image, err := tarball.ImageFromPath(r.archive, nil)
	framework.NoError(t, err)
	config, err := image.ConfigFile()
	framework.NoError(t, err)
	base := framework.ReadFile(t, filepath.Join(framework.Root(), r.base))
	labeled := config.Config.DeepCopy()
	labeled.Labels[oci.LabelConfigBase64] = base64.StdEncoding.EncodeToString(base)
	image, err = mutate.Config(image, *labeled)
	framework.NoError(t, err)
	return pushPrivate(t, "server:"+r.version, image)
}

func (s stack) withPackages(distribution, inference, tools string) string {
	return fmt.Sprintf(`apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: %s}
spec:
  distribution: %s
  externalProviders:
    inference:
    - {providerId: tiny, endpoint: "http://backend.example.com/v1", config: {greeting: hello}, %s}
    toolRuntime:
      providerId: tiny-tools
      image: %s
  resources: {models: [{name: m1, provider: tiny}]}
  workload:
    imagePullSecrets: [{name: %s}]
    resources: {requests: {cpu: 100m, memory: 512Mi}}
`, s.name, distribution, inference, tools, pullSecret)
}

// answers checks that both providers are listed, and that the inference provider responds.
func (s stack) answers(t *testing.T) {
	t.Helper()
	if p := s.provider(t, "inference", "tiny"); p.Type != "remote::tiny" {
		t.Errorf("provider %+v", p)
	}
	if p := s.provider(t, "tool_runtime", "tiny-tools"); p.Type != "inline::tiny-tools" {
		t.Errorf("provider %+v", p)
	}
	status, content := s.chat(t, "tiny/m1", question)
	if want := "hello (http://backend.example.com/v1"; status != http.StatusOK || !strings.Contains(content, want) || !strings.HasSuffix(content, question) {
		t.Errorf("status %d, answer %q, want %q", status, content, want)
	}
}

// The server's image is in a registry with authentication and has its base configuration in a label. The images of two
// providers contain no program.
//
// Proves: FR-014, FR-020, FR-027a, FR-090, FR-091, R14, R46.
func externalProvidersAnswer(t *testing.T) {
	s := externalStack(t)
	inference, tools := tinyImage(t, "inference", externalprovider.Inference, nil), tinyImage(t, "tools", externalprovider.Tools, nil)
	distribution := "{name: starter}"
	if registered == &pinned {
		distribution = "{image: " + fmt.Sprintf("%q", labeledImage(t, registered)) + "}"
	}
	s.in(t).Apply(s.withPackages(distribution, fmt.Sprintf("image: %q", inference), tools))
	cr := s.waitReady(t)
	s.answers(t)
	did(t, "%s: the external providers are listed, and answer", cr.Status.ResolvedDistribution.Image)
	s.brokenPackagesAreNamed(t, distribution, tools)
	s.in(t).Kubectl("delete", "llamastackdistribution", s.name, "--wait")
}

// brokenPackagesAreNamed sets a provider's image to several broken ones: the status has the reason within a minute, and
// the running server continues to serve.
func (s stack) brokenPackagesAreNamed(t *testing.T, distribution, tools string) {
	t.Helper()
	pod := s.pod(t).Name
	inline := `package: {packageName: tiny_provider.inference, providerType: "remote::tiny", fields: {endpoint: base_url}}, `
	wheel := parse.WheelsDir + "/" + externalprovider.WheelName("1.0.0")
	absent := externalprovider.Kind{API: "inference", Module: "tiny_provider.absent", Type: "remote::tiny", Fields: "{endpoint: base_url}"}
	type broken struct{ name, inference, says string }
	module, ends := "llama_stack_api", "RuntimeError: no license" // the server's error message
	if registered == &newest {                                    // exits with code 0, so Kubernetes keeps no message
		module, ends = "ogx_api", "its log has the cause: kubectl"
	}
	cases := []broken{
		{"a package for another release", fmt.Sprintf("image: %q", brokenImage(t, "import-"+registered.version, "from "+module+" import OfAnotherTime")),
			"cannot import name 'OfAnotherTime' from '" + module + "'"},
		{"a package that fails", fmt.Sprintf("image: %q", brokenImage(t, "failing-"+registered.version, "def get_provider_spec():\n    raise RuntimeError('no license')")), ends},
	}
	if registered == &pinned { // independent of the server's release
		cases = append(cases, broken{"an image that does not exist", inline + fmt.Sprintf("image: %q", cluster.Registry+"/"+registryPrivate+"tiny:none"), "ImagePullBackOff"},
			broken{"an image without a package", inline + fmt.Sprintf("image: %q", pushPrivate(t, "tiny:empty", scratchImage(t, map[string][]byte{"/a": nil}))),
				"its image has no directory /lls-provider/packages"},
			broken{"a package without the module", fmt.Sprintf("image: %q", tinyImage(t, "absent", absent, nil)), "no module tiny_provider.absent.provider"},
			broken{"a wheel that is none", fmt.Sprintf("image: %q", tinyImage(t, "damaged", externalprovider.Inference, func(files map[string][]byte) {
				files[wheel] = []byte("no archive")
			})), "it is not a wheel"})
	}
	for _, c := range cases {
		s.in(t).Apply(s.withPackages(distribution, c.inference, tools))
		framework.Eventually(t, soon, c.name+" is named", func() error {
			if text := conditions(s.in(t).CR(s.name)); !strings.Contains(text, c.says) {
				return errors.New(text)
			}
			return nil
		})
		if !slices.ContainsFunc(s.in(t).Pods(s.name), func(p corev1.Pod) bool { return p.Name == pod && p.DeletionTimestamp == nil }) {
			t.Errorf("%s: pod %s, which served, is gone", c.name, pod)
		}
		s.answers(t)
		did(t, "%s is named by the status (%s), and what ran serves", c.name, c.says)
	}
}

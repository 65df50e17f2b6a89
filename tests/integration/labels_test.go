// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

var pullPassword = suite.Canaries.Add("pull-canary-91ab")

// privateRegistry is a registry with a private CA and basic authentication, which counts its requests.
type privateRegistry struct {
	*httptest.Server
	host string
	ca   []byte

	mu       sync.Mutex
	requests []string
	open     bool
}

func newPrivateRegistry(t *testing.T) *privateRegistry {
	t.Helper()
	images := ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0)))
	r := &privateRegistry{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		open := r.open
		if !open && (strings.Contains(q.URL.Path, "/manifests/") || strings.Contains(q.URL.Path, "/blobs/")) {
			r.requests = append(r.requests, q.Method+" "+q.URL.Path)
		}
		r.mu.Unlock()
		if user, password, _ := q.BasicAuth(); !open && (user != "pull" || password != pullPassword) {
			w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED"}]}`, http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, q)
	}))
	t.Cleanup(r.Close)
	r.host = strings.TrimPrefix(r.URL, "https://")
	r.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	return r
}

func (r *privateRegistry) push(t *testing.T, repository string, labels map[string]string) {
	t.Helper()
	image, err := mutate.Config(empty.Image, v1.Config{Labels: labels})
	framework.NoError(t, err)
	ref, err := name.ParseReference(r.host + "/" + repository)
	framework.NoError(t, err)
	r.mu.Lock()
	r.open = true
	r.mu.Unlock()
	err = remote.Push(ref, image, remote.WithTransport(r.Client().Transport))
	r.mu.Lock()
	r.open, r.requests = false, nil
	r.mu.Unlock()
	framework.NoError(t, err)
}

func (r *privateRegistry) asked() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.requests...)
}

// setRegistries sets the operator's settings for registries until the test ends.
func (e *env) setRegistries(format string, args ...any) {
	e.T.Helper()
	e.MakeSettings(settings.KeyRegistries, fmt.Sprintf(format, args...))
}

// An image of a private registry, named by the address that the registry mirrors, gets a configuration from its labels.
// The labels stay known after the registry and the operator have ended.
//
// Proves: FR-020, FR-021, FR-027a, FR-027b, FR-027c, FR-027d, FR-027f, NFR-006, R14, R60, R76, R7.
func TestImageWithLabelsUsesItsConfiguration(t *testing.T) {
	e := newEnv(t) // storing the labels in the operator's namespace needs its Role
	site := newPrivateRegistry(t)
	base, _ := distributions.Base("starter", "0.7")
	site.push(t, "team/server:build-7", map[string]string{
		oci.LabelImageVersion: "0.7.1", oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(base),
	})
	e.setRegistries("mirrors: [{prefix: registry.example.com, location: %q}]\ncaCertificates: |\n  %s", site.host,
		strings.ReplaceAll(string(site.ca), "\n", "\n  "))
	op := e.StartOperator()
	spec := "distribution: {image: 'registry.example.com/team/server:build-7'}\n" + suite.VLLMProvider
	e.Apply(framework.Manifest("s", spec+"\nworkload: {imagePullSecrets: [{name: pull}]}"))
	message := e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.ImageNotAccessible))
	if !strings.Contains(message, "imagePullSecrets") {
		t.Errorf("message %q", message)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths":{%q:{"username":"pull","password":%q}}}`, site.host, pullPassword)},
	}
	framework.NoError(t, suite.Admin.Create(t.Context(), secret))
	e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
	if got := e.Deployment("s").Spec.Template.Spec.Containers[0].Image; got != site.host+"/team/server:build-7" {
		t.Errorf("the pods run %s", got)
	}
	r := e.CR("s").Status.ResolvedDistribution
	if r.ConfigSource != v1alpha2.ConfigSourceOCILabel || r.ServerLine != "0.7" || r.ServerLineSource != "label "+oci.LabelImageVersion+" of the image" {
		t.Errorf("resolvedDistribution %+v", r)
	}
	before := len(site.asked())
	if got := strings.Join(site.asked()[before-2:], "\n"); strings.Count(got, "GET ") != 2 || strings.Count(got, "/manifests/") != 1 || strings.Count(got, "/blobs/") != 1 {
		t.Errorf("the last requests are %s; want one manifest and one configuration", got)
	}
	e.Apply(framework.Manifest("second", spec+"\nworkload: {imagePullSecrets: [{name: pull}]}"))
	e.WaitCondition("second", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
	if got := site.asked()[before:]; len(got) != 0 {
		t.Errorf("a second resource asked: %v", got)
	}
	op.Stop()
	site.Close()
	e.StartOperator()
	e.Apply(framework.Manifest("third", spec+"\nworkload: {imagePullSecrets: [{name: pull}]}"))
	e.WaitCondition("third", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
	e.Apply(framework.Manifest("fourth", strings.Replace(spec, "build-7", "build-8", 1)))
	message = e.WaitCondition("fourth", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.RegistryUnavailable))
	for _, way := range []string{"register the image", "readLabels: false", "overrideConfig"} {
		if !strings.Contains(message, way) {
			t.Errorf("message %q does not name the way out %q", message, way)
		}
	}
	e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, "")
}

// Proves: FR-027e (word for word), FR-027g, R14, R19, R74 (other errors are reported beside an unreadable image).
func TestImageWithoutLabelsReportsFix(t *testing.T) {
	t.Parallel()
	e := newEnvWithSettings(t)
	site := newPrivateRegistry(t)
	site.push(t, "team/bare:1", nil)
	site.mu.Lock()
	site.open = true
	site.mu.Unlock()
	e.setRegistries("allowed: [%q]\ncaCertificates: |\n  %s", site.host, strings.ReplaceAll(string(site.ca), "\n", "\n  "))
	e.StartOperator()
	image := site.host + "/team/bare:1"
	e.Apply(framework.Manifest("s", "distribution: {image: '"+image+"'}\n"+suite.VLLMProvider))
	message := e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.MissingConfigLabels))
	want := "Distribution image " + image + " missing config labels. Add labels using `crane mutate` or use `overrideConfig` to provide configuration " +
		"manually. See docs/configuration.md for details."
	if !strings.Contains(message, want) {
		t.Errorf("message %q, want %q", message, want)
	}
	e.Apply(framework.Manifest("none", "distribution: {image: '"+site.host+"/team/none:1'}\ndisabled: [inferense]\n"+suite.VLLMProvider))
	e.Eventually("all that is wrong is reported", func() error {
		c := meta.FindStatusCondition(e.CR("none").Status.Conditions, v1alpha2.ConditionConfigGenerated)
		if c == nil || c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, `spec.distribution: Not found: "`) || !strings.Contains(c.Message, "spec.disabled[0]: ") {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	e.Apply(framework.Manifest("other", "distribution: {image: 'registry.example.com/team/none:1'}\n"+suite.VLLMProvider))
	message = e.WaitCondition("other", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.ForbiddenBySettings))
	if !strings.Contains(message, site.host) {
		t.Errorf("message %q does not name the allowed registries", message)
	}
	e.CreateConfigMap("mine", map[string]string{"config.yaml": "version: 2\napis: []\n"})
	e.Apply(framework.Manifest("s", "distribution: {image: '"+image+"'}\noverrideConfig: {configMapName: mine}"))
	e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonOverride)
}

// An image without a known release runs unchanged. A configuration is generated for the release that the running server
// has reported; if the image has never run, the resource waits.
//
// Proves: R92.
func TestReleaseOfTheRunningServerIsUsed(t *testing.T) {
	t.Parallel()
	e := newEnvWithSettings(t)
	site := newPrivateRegistry(t)
	site.push(t, "team/silent:latest", map[string]string{
		oci.LabelConfigBase64: base64.StdEncoding.EncodeToString([]byte("version: 2\napis: [inference]\nproviders: {inference: []}\n")),
	})
	site.mu.Lock()
	site.open = true
	site.mu.Unlock()
	e.setRegistries("caCertificates: |\n  %s\nallowed: [%q]", strings.ReplaceAll(string(site.ca), "\n", "\n  "), site.host)
	e.StartOperator()
	image := "distribution: {image: '" + site.host + "/team/silent:latest'}\n"
	e.Apply(framework.Manifest("s", image))
	const source = "version that the running server reports"
	reported := func() error {
		if r := e.CR("s").Status.ResolvedDistribution; r == nil || r.ServerLine != catalog.Newest() || r.ServerLineSource != source {
			return fmt.Errorf("%+v", r)
		}
		return nil
	}
	e.Eventually("the server has reported its release", reported)
	e.Apply(framework.Manifest("s", image+suite.VLLMProvider))
	e.Apply(framework.Manifest("new", image+suite.VLLMProvider))
	message := e.WaitCondition("new", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.UnknownServerLine))
	if !strings.Contains(message, "set spec.distribution.version") {
		t.Errorf("message %q", message)
	}
	e.Eventually("the configuration is generated", func() error {
		r := e.CR("s").Status.ResolvedDistribution
		if r.ConfigSource != v1alpha2.ConfigSourceOCILabel {
			return fmt.Errorf("%+v", r)
		}
		return reported()
	})
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// validation is the released validating webhook, with another address, for the namespace of one test.
type validation struct {
	asked  atomic.Int32
	broken atomic.Bool
	server *httptest.Server
}

// startValidation makes the API server call a webhook in this process, with the operator's permissions, and waits until
// it does.
func (e *env) startValidation() *validation {
	e.T.Helper()
	reader, err := client.New(suite.OperatorConfig, client.Options{Scheme: suite.Scheme})
	framework.NoError(e.T, err)
	g := &gather.Gatherer{Live: reader, OperatorNamespace: framework.OperatorNamespace}
	handler := webhook.NewIntake().Handler((&webhook.Validation{Gather: g.GatherForAdmission}).Kind())
	v := &validation{}
	v.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.asked.Add(1)
		if v.broken.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	e.T.Cleanup(v.server.Close)

	raw := framework.ReadFile(e.T, filepath.Join(framework.Root(), "config", "webhook", "validation.yaml"))
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	framework.NoError(e.T, yaml.UnmarshalStrict(raw, &configuration))
	configuration.Name = "test-" + e.Name
	for i := range configuration.Webhooks {
		w := &configuration.Webhooks[i]
		url := v.server.URL + *w.ClientConfig.Service.Path
		w.ClientConfig = admissionregistrationv1.WebhookClientConfig{
			URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.server.Certificate().Raw}),
		}
		w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.Name}}
		w.TimeoutSeconds = new(int32(30)) // a busy machine must not cause timeouts
	}
	framework.NoError(e.T, suite.Admin.Create(e.T.Context(), &configuration))
	e.T.Cleanup(func() { _ = suite.Admin.Delete(context.Background(), &configuration) })
	e.Eventually("the API server asks the webhook", func() error {
		out, _ := e.TryApply(framework.Manifest("probe", "distribution: {name: nowhere}"), "--dry-run=server")
		if !strings.Contains(out, `Unsupported value: "nowhere"`) {
			return errors.New(out)
		}
		return nil
	})
	return v
}

const validVLLM = "distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: creds, key: token}}}\n"

// Proves: FR-073, FR-074, FR-075, NFR-004, EC-5, R3, R20, R34, R57, R64 (the webhook's messages as kubectl prints
// them).
func TestValidatingWebhook(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startValidation()
	e.CreateSecret("creds", map[string]string{"token": canary})
	const refused = `The LlamaStackDistribution "s" is invalid: `
	for name, c := range map[string]struct {
		spec string
		want []string // prefixes of the printed messages
	}{
		"right": {validVLLM, []string{"llamastackdistribution.llamastack.io/s created"}},
		"an unknown distribution": {"distribution: {name: startr}", []string{
			// Other tests may register further distributions.
			refused + `spec.distribution.name: Unsupported value: "startr": did you mean "starter"? known distributions: meta-reference-gpu, `,
		}},
		"an API that no release line has, and one that others have": {"distribution: {name: starter, version: '1.5'}\nproviders: {fils: {provider: s3}, eval: {provider: builtin}}", []string{
			refused,
			`* spec.providers.fils: Invalid value: unknown field: did you mean "files"?`,
			`* spec.providers.eval: Forbidden: release line 1.5 has no API eval, which was removed in 0.8: `,
		}},
		"two errors and a warning": {validVLLM + "resources: {models: [{name: m, provider: vlm}, {name: n2, provider: nobody}]}\nnetworking: {tls: {secretName: s}}", []string{
			"Warning: spec.networking.tls.secretName: has no effect while TLS is not enabled: set spec.networking.tls.enabled: true, or remove it",
			refused,
			`* spec.resources.models[0].provider: Not found: "vlm": there is no inference provider with this id: did you mean "vllm"? configure it under`,
			`* spec.resources.models[1].provider: Not found: "nobody": there is no inference provider with this id: configure it under`,
		}},
		// The webhook does not check whether Secrets, ConfigMaps and their keys exist, because the user may not be allowed to
		// read them.
		"a Secret that is not there": {strings.Replace(validVLLM, "name: creds", "name: later", 1), []string{"llamastackdistribution.llamastack.io/s created"}},
		"a key that is not there":    {strings.Replace(validVLLM, "key: token", "key: tokn", 1), []string{"llamastackdistribution.llamastack.io/s created"}},
		"ConfigMaps that are not there": {"distribution: {image: 'registry.example/ogx:1.2.0'}\noverrideConfig: {configMapName: mine}\n" +
			"networking: {tls: {caBundle: {configMapName: trusted-ca}}}", []string{"llamastackdistribution.llamastack.io/s created"}},
	} {
		var out string
		var lines []string
		// The API server ignores a webhook that is late, as on a busy machine.
		e.Eventually(name, func() (err error) {
			out, err = e.TryApply(framework.Manifest("s", c.spec), "--dry-run=server")
			if lines = slices.Collect(strings.Lines(out)); len(lines) != len(c.want) {
				return fmt.Errorf("%w: %d lines, want %d:\n%s", err, len(lines), len(c.want), out)
			}
			return nil
		})
		for i, want := range c.want {
			if !strings.HasPrefix(lines[i], strings.TrimSpace(want)) {
				t.Errorf("%s: line %d\ngot  %swant %s", name, i+1, lines[i], want)
			}
		}
		if strings.Contains(out, canary) {
			t.Errorf("%s: the value of the Secret is in: %s", name, out)
		}
	}
}

// The API server and the webhook admit the resources in the pages.
//
// Proves: FR-061, FR-064, FR-065, US-2.2.
func TestResourcesOfThePagesAreAdmitted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startValidation()
	pages, err := filepath.Glob("../../docs/*.md")
	framework.NoError(t, err)
	var documents []string
	shown := map[string]int{}
	for _, page := range pages {
		blocks := framework.CodeBlocks(t, page)
		for i, b := range blocks {
			cr := &unstructured.Unstructured{}
			findings := ""
			if i+1 < len(blocks) && blocks[i+1].Info == "text findings" {
				findings = blocks[i+1].Text
			}
			// A page says which resources are invalid. The plugin's test renders those for another release line than the
			// settings'.
			if strings.Contains(findings, "error: ") || b.Info != "yaml" && b.Info != "yaml resource" || yaml.Unmarshal([]byte(b.Text), &cr.Object) != nil || cr.GroupVersionKind() != v1alpha2.GroupVersion.WithKind(v1alpha2.Kind) {
				continue
			}
			cr.SetName(fmt.Sprint("s", len(documents)))
			cr.SetNamespace(e.Name)
			text, err := yaml.Marshal(cr.Object)
			framework.NoError(t, err)
			documents = append(documents, string(text))
			shown[filepath.Base(page)]++
		}
	}
	out, err := suite.Cluster.KubectlInput(t.Context(), strings.Join(documents, "\n---\n"), "apply", "--dry-run=server", "-f", "-")
	if created := strings.Count(out, " created (server dry run)"); err != nil || created != len(documents) || shown["networking.md"] != 8 || shown["configuration-resources.md"] < 4 {
		t.Errorf("of %d resources %v, %d are admitted: %v\n%s", len(documents), shown, created, err, out)
	}
}

// Proves: R57 (the webhook is called once for each change of the spec only, and a failing webhook rejects no request).
func TestValidatingWebhookIsCalledOnce(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	v := e.startValidation()
	count := func(what string, want int32, args ...string) {
		t.Helper()
		before := v.asked.Load()
		if out, err := e.TryKubectl("", args...); err != nil {
			t.Errorf("%s: %s", what, out)
		}
		if got := v.asked.Load() - before; got != want {
			t.Errorf("%s: asked %d times, want %d", what, got, want)
		}
	}
	e.Apply(framework.Manifest("s", "distribution: {name: starter}"))
	count("a label", 0, "label", "llsd", "s", "a=b")
	count("the status", 0, "patch", "llsd", "s", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed"}}`)
	count("an edit", 1, "patch", "llsd", "s", "--type=merge", "-p", `{"spec":{"networking":{"port":9000}}}`)

	v.broken.Store(true)
	count("an edit that is wrong, while the operator is out of order", 1, "patch", "llsd", "s", "--type=merge", "-p", `{"spec":{"distribution":{"name":"startr"}}}`)
	v.broken.Store(false)
	count("a label of what is wrong by now", 0, "label", "llsd", "s", "c=d")
	if out, err := e.TryKubectl("", "patch", "llsd", "s", "--type=merge", "-p", `{"spec":{"networking":{"port":9001}}}`); err == nil {
		t.Errorf("the next edit is validated: %s", out)
	}
	if diff := cmp.Diff("startr", fmt.Sprint(*e.CR("s").Spec.Distribution.Name)); diff != "" {
		t.Error(diff)
	}
}

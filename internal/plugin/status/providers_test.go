// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// twoProviders sets two providers, of which the base has one that a variable enables.
func twoProviders(t *testing.T, cr *v1alpha2.LlamaStackDistribution) {
	t.Helper()
	const spec = `distribution: {name: starter}
providers:
  inference:
  - {id: vllm, provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: vllm-creds, key: token}}
  - {id: second, provider: 'remote::openai', apiKey: {name: openai-creds, key: token}}
`
	if err := yaml.Unmarshal([]byte(spec), &cr.Spec); err != nil {
		t.Fatal(err)
	}
}

// A missing Secret keeps the spec from being applied. The providers are those of the spec all the same, and the base's
// entry of the same id does not say whether they are on.
func TestStatusListsProvidersOfASpecThatIsNotApplied(t *testing.T) {
	const missing = "SecretsResolved=False SecretNotFound: spec.providers.inference[0].apiKey: Secret not found: vllm-creds"
	first := stack(t, "my-stack", missing, "Ready=False SecretNotFound: x")
	twoProviders(t, first)
	first.Status.ConfigGeneration = nil
	edited := stack(t, "my-stack", missing, "Ready=False SecretNotFound: x")
	twoProviders(t, edited)
	conditional := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-config"},
		Data: map[string]string{"config.yaml": strings.Replace(running, "provider_id: vllm, provider_type",
			`provider_id: "${env.VLLM_URL:+vllm}", provider_type`, 1)},
	}
	for name, c := range map[string]struct {
		objects []client.Object
		states  map[string]string
	}{
		"a first apply": {[]client.Object{first}, map[string]string{"vllm": "not applied yet", "second": "not applied yet"}},
		"an edit that adds one": {
			append(belongings(1), edited), map[string]string{"vllm": "on", "second": "not applied yet"},
		},
		"an edit that adds what the base has conditionally": {
			[]client.Object{edited, conditional}, map[string]string{"vllm": "not applied yet", "second": "not applied yet"},
		},
	} {
		out, _ := run(t, fakecluster.New(t, c.objects...), "my-stack")
		for id, state := range c.states {
			row := regexp.MustCompile(`\n  inference +` + id + ` +remote::\S+ +spec +` + state + `\n`)
			if len(row.FindAllString(out, -1)) != 1 || strings.Contains(out, "VLLM_URL") {
				t.Errorf("%s: %s is not listed once as %s:\n%s", name, id, state, out)
			}
		}
	}
}

// The starter distribution has about twenty providers that variables enable.
func TestStatusListsUnconfiguredProvidersInOneLine(t *testing.T) {
	cr := stack(t, "my-stack", "Ready=False SecretNotFound: x")
	cr.Status.ConfigGeneration = nil
	out, _ := run(t, fakecluster.New(t, cr), "my-stack")
	line := regexp.MustCompile(`\nProviders\n  inference   vllm   remote::vllm   spec   not applied yet\n  and those of the base: \d+ on, \d+ off; -o yaml lists them\n`)
	if !line.MatchString(out) {
		t.Errorf("the providers of the base are not one line:\n%s", out)
	}
	if out, _ = run(t, fakecluster.New(t, cr), "my-stack", "-o", "yaml"); !strings.Contains(out, "variable: OLLAMA_URL") {
		t.Errorf("the output for programs does not list them:\n%s", out)
	}
}

// Ready does not depend on the address from outside or on warnings, so the verdict must have them.
func TestStatusReportsTheRemarksOfReady(t *testing.T) {
	const remark = "the server is not exposed yet: Ingress my-stack-ingress has no address"
	c := fakecluster.New(t, stack(t, "my-stack", "Available=True A: b", "Ready=True Ready: The spec is applied; "+remark))
	if out, _ := run(t, c, "my-stack"); !strings.HasPrefix(out, "ai/my-stack: ready; "+remark+"\n") {
		t.Errorf("of one resource:\n%s", out)
	}
	if out, _ := run(t, c); !strings.Contains(out, "ready; "+remark+"\n") {
		t.Errorf("of the table:\n%s", out)
	}
}

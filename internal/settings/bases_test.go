// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// judged is a base with a fault of each kind.
const judged = `version: 2
distro_name: mine
apis: [inference]
auth: {provider_config: {type: custom, endpoint: "https://a"}}
models: []
providers:
  inference:
  - provider_id: vllm
    provider_type: remote::vllm
    config:
      url: http://a
      api_token: ${env.TOKEN:fake}
      tls_verify: 7
  - {provider_id: b, provider_type: "remote::vlm"}
storage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}
servr: {}
`

// Proves: R88 (a registration is judged as its first custom resource would; what the server ignores is a warning).
func TestRegisteredBasesAreComparedWithTheirRelease(t *testing.T) {
	cm := &corev1.ConfigMap{Data: map[string]string{"image": "registry.example.com/a:1.5.0", "config.yaml": judged}}
	cm.Name, cm.Labels = "distribution-a", map[string]string{LabelDistribution: "a"}
	unnamed := &corev1.ConfigMap{Data: map[string]string{"image": "registry.example.com/b:v7"}}
	unnamed.Name, unnamed.Labels = "distribution-b", map[string]string{LabelDistribution: "b"}
	s, err := Parse(map[string]string{KeyDistributions: "in-house:\n  image: registry.example.com/c:1.5.0\n  config: |\n" +
		"    version: 2\n    distro_name: a\n    apis: []\n    providers: {}\n    storage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}\n    modles: []\n"},
		ParseRegistration(cm), ParseRegistration(unnamed))
	framework.NoError(t, err)
	var got []string
	for _, p := range s.BaseProblems(t.Context()) {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		got = append(got, p.ConfigMap+" "+severity+": "+p.Err.Error())
	}
	const at = ": ConfigMap distribution-a: config.yaml:"
	if diff := cmp.Diff([]string{
		`distribution-a error` + at + `14:37: providers.inference[1].provider_type: the server does not start with this: release line 1.5 has no type ` +
			`"remote::vlm" of inference providers: did you mean "remote::vllm"?`,
		`distribution-a warning` + at + `13:19: providers.inference[0].config.tls_verify: the server does not start with this: the server takes true or ` +
			`false, or a string here: write such a value`,
		`distribution-a warning` + at + `4:7: auth: the server ignores this: the server reads authentication only under server.auth, so everyone may call it: ` +
			`move it to server.auth`,
		`distribution-a warning` + at + `5:9: models: the server ignores this: release line 1.5 has no such field: remove it`,
		`distribution-a warning` + at + `11:12: providers.inference[0].config.url: the server ignores this: release line 1.5 has no such field: did you mean "base_url"?`,
		`distribution-a warning` + at + `12:18: providers.inference[0].config.api_token: the server ignores this: the server does not expand ${env.TOKEN:…}: ` +
			`write := before the default: ${env.TOKEN:=…}`,
		`distribution-a warning` + at + `16:8: servr: the server ignores this: release line 1.5 has no such field: did you mean "server"?`,
		`distribution-a warning` + at + `12:18: providers.inference[0].config.api_token: is a secret, and everyone who may read the ConfigMap sees it: ` +
			`refer to an environment variable: ${env.NAME}`,
		`llama-stack-operator-config warning: llama-stack-operator-config/distributions[in-house]: config:6:9: modles: the server ignores this: ` +
			`release line 1.5 has no such field: remove it`,
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, image := range []string{"registry.example.com/a:1.5.0", "registry.example.com/a:latest"} {
		cm.Data["config.yaml"], cm.Data["image"] = "version: 2\ndistro_name: a\nproviders: {}\nstorage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}\n", image
		if s, err = Parse(nil, ParseRegistration(cm)); err != nil || len(s.BaseProblems(t.Context())) > 0 {
			t.Errorf("%s: %v, %v", image, err, s.BaseProblems(t.Context()))
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// withVariables returns a v1alpha1 resource with variables, each a line of YAML.
func withVariables(variables ...string) string {
	return "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: my-llsd}\nspec:\n  server:\n" +
		"    distribution: {name: starter}\n    containerSpec:\n      env:\n      - " + strings.Join(variables, "\n      - ") + "\n"
}

// A golden file holds standard error, then the result.
//
// Proves: US-7.1, MIG-EX (providers replace variables, and the server reads the same configuration).
func TestMigrate(t *testing.T) {
	cases := map[string]string{
		"key-from-a-secret": withVariables(
			"{name: VLLM_URL, value: 'http://vllm:8000/v1'}", "{name: VLLM_API_TOKEN, valueFrom: {secretKeyRef: {name: creds, key: token}}}",
			"{name: VLLM_MAX_TOKENS, value: '8192'}", "{name: INFERENCE_MODEL, value: 'llama3.2-8b'}",
		),
		"key-in-the-spec": withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}", "{name: VLLM_API_TOKEN, value: canary-4711}"),
		"two-providers": withVariables(
			"{name: VLLM_URL, value: 'http://vllm:8000/v1'}", "{name: OLLAMA_URL, value: 'http://ollama:11434/v1'}", "{name: INFERENCE_MODEL, value: x}",
			"{name: OLLAMA_INFERENCE_MODEL, value: 'llama3.2:1b'}",
		),
		"inner-field": withVariables(
			"{name: VLLM_URL, value: 'http://vllm:8000/v1'}", "{name: VLLM_TLS_VERIFY, value: 'false'}", "{name: VLLM_MAX_TOKENS, value: '8192'}",
			"{name: VLLM_API_TOKEN, valueFrom: {secretKeyRef: {name: creds, key: token}}}", "{name: INFERENCE_MODEL, value: m}",
		),
		"condition-from-elsewhere": withVariables(
			"{name: VLLM_URL, valueFrom: {configMapKeyRef: {name: addresses, key: vllm}}}",
			"{name: OPENAI_API_KEY, valueFrom: {secretKeyRef: {name: creds, key: openai}}}", "{name: UNKNOWN, value: x}", "{name: GEMINI_API_KEY, value: canary-4711}",
		),
		"written-twice": withVariables(
			"{name: VLLM_URL, value: 'http://first:8000/v1'}", "{name: INFERENCE_MODEL, value: m1}",
			"{name: VLLM_URL, value: 'http://last:8000/v1'}", "{name: INFERENCE_MODEL, value: m2}",
		),
		"url-from-a-secret": withVariables(
			"{name: VLLM_URL, valueFrom: {secretKeyRef: {name: creds, key: url}}}", "{name: VLLM_API_TOKEN, valueFrom: {secretKeyRef: {name: creds, key: token}}}",
			"{name: OLLAMA_URL, valueFrom: {secretKeyRef: {name: creds, key: url, optional: true}}}",
		),
		// The distribution has the same default.
		"token-that-is-none": withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}", "{name: VLLM_API_TOKEN, value: fake}"),
		"network-policy":     withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}") + "  network: {allowedFrom: {namespaces: [apps]}}\n",
		"database": strings.Replace(withVariables(
			"{name: VLLM_URL, value: 'http://vllm:8000/v1'}", "{name: POSTGRES_HOST, value: pg}", "{name: POSTGRES_PASSWORD, valueFrom: {secretKeyRef: {name: pg, key: password}}}",
		), "name: starter", "name: postgres-demo", 1),
		"unknown-distribution": strings.Replace(withVariables(
			"{name: VLLM_URL, value: 'https://vllm:8443/v1'}", "{name: VLLM_TLS_VERIFY, value: 'false'}", "{name: INFERENCE_MODEL, value: m}", "{name: FMS_ORCHESTRATOR_URL, value: 'http://x'}",
		), "name: starter", "name: rh-dev", 1),
		"unconditional": strings.Replace(withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}"), "name: starter", "name: remote-vllm", 1),
		"image":         strings.Replace(withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}"), "name: starter", "image: 'quay.io/example/server:0.6.1'", 1),
		"proxy": withVariables(
			"{name: HTTP_PROXY, value: 'http://proxy:3128'}", "{name: HTTPS_PROXY, value: 'http://proxy:3128'}", "{name: https_proxy, value: 'http://proxy:3128'}",
			"{name: NO_PROXY, value: '.example.com'}", "{name: VLLM_URL, value: 'http://vllm:8000/v1'}",
		),
		"proxy-that-stays": withVariables(
			"{name: HTTP_PROXY, value: 'http://me:canary-4711@proxy:3128'}", "{name: HTTPS_PROXY, valueFrom: {secretKeyRef: {name: proxy, key: url}}}", "{name: NO_PROXY, value: '.example.com'}",
		),
		"proxy-with-wrong-exceptions": withVariables("{name: HTTP_PROXY, value: 'http://proxy:3128'}", "{name: NO_PROXY, value: '*.example.com'}"),
		"telemetry": withVariables(
			"{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: 'http://collector:4318'}", "{name: OTEL_SERVICE_NAME, value: mine}", "{name: OTEL_TRACES_SAMPLER_ARG, value: '0.5'}",
			"{name: OTEL_EXPORTER_OTLP_HEADERS, valueFrom: {secretKeyRef: {name: otel, key: headers}}}",
		),
		"telemetry-by-grpc": withVariables("{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: 'http://collector:4317'}", "{name: OTEL_SERVICE_NAME, value: mine}"),
		"referred-to":       withVariables("{name: OLLAMA_URL, value: 'http://ollama:11434/v1'}", "{name: MINE, value: '$(OLLAMA_URL)/x'}"),
	}
	for _, example := range []string{"ollama", "vllm-with-api-key", "override-config", "network-policy-and-tls", "full-featured"} {
		cases["guide-"+example] = read(t, "../../api/v1alpha1/testdata/conversion/"+example+"/before.yaml")
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			r := run(t, text, "migrate", "-f", "-", "--settings", networkPolicies)
			if r.code != cli.ExitOK || !strings.Contains(r.err, "  verified: ") || strings.Contains(r.err, "canary") {
				t.Errorf("exit code %d:\n%s", r.code, r.err)
			}
			expect.File(t, filepath.Join("testdata", "migrate", name+".txt"), r.err+"---\n"+r.out)
			again := run(t, r.out, "migrate", "-f", "-", "--settings", networkPolicies)
			if again.out != r.out || !strings.Contains(again.err, "  verified: the configuration is the same\n") {
				t.Errorf("of what is migrated already, another one is made:\n%s%s", again.err, again.out)
			}
		})
	}
}

// The result can replace the file: documents of other kinds stay, in their order.
func TestMigrateKeepsDocumentsOfOtherKinds(t *testing.T) {
	const before, after = "apiVersion: v1\nkind: Secret\nmetadata: {name: creds}\n---\n", "\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n"
	text := before + withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}") + after
	r := run(t, text, "migrate", "-f", "-", "--settings", networkPolicies)
	var kinds []string
	for line := range strings.SplitSeq(r.out, "\n") {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			kinds = append(kinds, kind)
		}
	}
	if want := []string{"Secret", v1alpha2.Kind, "ConfigMap"}; r.code != cli.ExitOK || !slices.Equal(kinds, want) {
		t.Errorf("exit code %d, kinds %v, want %v:\n%s", r.code, kinds, want, r.err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal([]byte(run(t, text, "migrate", "-f", "-", "-o", "json", "--settings", networkPolicies).out), &list); err != nil || len(list.Items) != 3 {
		t.Errorf("JSON has %d items: %v", len(list.Items), err)
	}
}

func TestMigrateRejectsInvalidResource(t *testing.T) {
	text := strings.Replace(withVariables("{name: A, value: b}"), "starter", "strater", 1)
	if r := run(t, text, "migrate", "-f", "-"); r.code != cli.ExitFailure || r.out != "" || !strings.Contains(r.err, `did you mean "starter"?`) {
		t.Errorf("exit code %d:\n%s%s", r.code, r.err, r.out)
	}
	if r := run(t, "kind: ConfigMap\napiVersion: v1\n", "migrate", "-f", "-"); r.code != cli.ExitFailure || !strings.Contains(r.err, "no LlamaStackDistribution") {
		t.Errorf("exit code %d:\n%s", r.code, r.err)
	}
}

// Each file of testdata/migrate/own is a resource with a configuration of its own, as users write them. A golden file
// holds standard error, then the result without the ConfigMap.
//
// Proves: R88, US-7.1.
func TestMigrateMovesOwnConfigurations(t *testing.T) {
	files, err := filepath.Glob("testdata/migrate/own/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			r := run(t, "", "migrate", "-f", file)
			if r.code != cli.ExitOK || !strings.Contains(r.err, "  moved from the file:\n") || !strings.Contains(r.err, "  verified: ") ||
				strings.Contains(r.err, "canary") {
				t.Errorf("exit code %d:\n%s", r.code, r.err)
			}
			made, _, _ := strings.Cut(r.out, "---\napiVersion: v1\ndata:\n")
			if strings.Contains(made, "overrideConfig") || strings.Contains(made, "canary") {
				t.Errorf("the result:\n%s", made)
			}
			expect.File(t, filepath.Join("testdata", "migrate", "own", name+".txt"), r.err+"---\n"+made)
			if strings.Contains(r.err, "  assumed:\n") {
				return // the result is checked against what is assumed of the file
			}
			again := run(t, made, "migrate", "-f", "-")
			if again.out != made || !strings.Contains(again.err, "  verified: the configuration is the same\n") {
				t.Errorf("of what is migrated already, another one is made:\n%s%s", again.err, again.out)
			}
		})
	}
}

// Without its ConfigMap, an override stays, and the output says what is missing.
func TestMigrateAsksForTheConfigMap(t *testing.T) {
	text, _, _ := strings.Cut(read(t, "testdata/migrate/own/ollama.yaml"), "---\n")
	r := run(t, text, "migrate", "-f", "-")
	if r.code != cli.ExitOK || !strings.Contains(r.out, "overrideConfig:\n    configMapName: cfg\n") ||
		!strings.Contains(r.err, "ConfigMap cfg is not among the files: give it with another -f, and its configuration is moved, too") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.err, r.out)
	}
}

// A configuration alone becomes a resource.
//
// Proves: R88.
func TestMigrateTakesAConfigurationAlone(t *testing.T) {
	file := write(t, "version: 2\nimage_name: My Server\napis: [inference]\nproviders:\n  inference:\n"+
		"  - {provider_id: vllm, provider_type: 'remote::vllm', config: {url: 'http://vllm:8000/v1', api_token: canary-4711}}\n")
	r := run(t, "", "migrate", "-f", file)
	for _, want := range []string{"name: my-server\n", "name: starter\n", "endpoint: http://vllm:8000/v1\n", "name: my-server-vllm\n"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if r.code != cli.ExitOK || strings.Contains(r.out+r.err, "canary") || strings.Contains(r.out, "overrideConfig") ||
		!strings.HasPrefix(r.err, "note: "+file+":1 is taken for a server of the distribution starter, release line ") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.err, r.out)
	}
}

// A registered distribution may leave out what the operator adds to each configuration.
func TestMigrateTakesARegisteredDistribution(t *testing.T) {
	registration := write(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: distribution-rh-dev, labels: {llamastack.io/distribution: rh-dev}}\n"+
		"data:\n  image: 'quay.io/example/server:0.7.1'\n  config.yaml: |\n    version: 2\n    apis: [inference]\n    providers:\n      inference:\n"+
		"      - {provider_id: '${env.VLLM_URL:+vllm-inference}', provider_type: 'remote::vllm', config: {base_url: '${env.VLLM_URL:=}'}}\n"+
		"    storage:\n      backends: {kv_default: {type: kv_sqlite, db_path: /.llama/kv.db}, sql_default: {type: sql_sqlite, db_path: /.llama/sql.db}}\n"+
		"      stores: {metadata: {namespace: registry, backend: kv_default}}\n")
	text := strings.Replace(withVariables("{name: VLLM_URL, value: 'http://vllm:8000/v1'}"), "starter", "rh-dev", 1)
	r := run(t, text, "migrate", "-f", "-", "--settings", registration)
	if r.code != cli.ExitOK || !strings.Contains(r.out, "id: vllm-inference\n") || strings.Contains(r.out, "VLLM_URL") ||
		!strings.Contains(r.err, "verified: the configuration is the same") {
		t.Errorf("exit code %d:\n%s%s", r.code, r.err, r.out)
	}
}

// A credential that only the container's environment has stays a reference, beside the other settings, or is named.
func TestMigrateKeepsCredentialsOfTheEnvironment(t *testing.T) {
	text := strings.Replace(read(t, "testdata/migrate/own/postgres-and-auth.yaml"), `jwks: {uri: "https://keycloak.example.com/realms/apps/protocol/openid-connect/certs"}`,
		"introspection: {url: 'https://keycloak.example.com/introspect', client_id: a, client_secret: '${env.OF_ENVFROM}'}", 1)
	text = strings.Replace(text, "{type: kv_postgres, host:", "{type: kv_redis, host:", 1)
	text = strings.Replace(text, `user: llamastack, password: "${env.POSTGRES_PASSWORD}"}
        sql_default`, `password: "${env.OF_ENVFROM}"}
        sql_default`, 1)
	r := run(t, text, "migrate", "-f", "-")
	made, _, _ := strings.Cut(r.out, "---\napiVersion: v1\ndata:\n")
	for _, want := range []string{"audience: llama-stack\n", "issuer: https://keycloak.example.com/realms/apps\n", "client_secret: ${env.OF_ENVFROM}\n", "client_id: a\n"} {
		if !strings.Contains(made, want) {
			t.Errorf("no %q in\n%s", want, made)
		}
	}
	if r.code != cli.ExitOK || !strings.Contains(r.err, "storage.backends.kv_default.password: comes from a variable: name the Secret in spec.storage.kv.password") {
		t.Errorf("exit code %d:\n%s", r.code, r.err)
	}
}

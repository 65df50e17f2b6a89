// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/tests/golden"
)

const (
	starterBases = "../../distributions/starter/"
	allBases     = "../../distributions/*/"
	lightBase    = "testdata/light-base.yaml"
	imageConfig  = "../../hack/serverimage/light.yaml"

	newestImageConfig = "../../hack/serverimage/light-ogx.yaml"
	goldens           = "../../pkg/config/testdata/"
	allOn             = "testdata/all-on.env"
)

// Proves: R28.
func TestStarterBaseMeansWhatTheReleaseShips(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		base := starterBases + r.line + ".yaml"
		if out, differs := runScript(t, r, "packaged.py", base, "starter"); differs {
			t.Errorf("%s differs from the packaged starter:\n%s", base, out)
		}
	})
}

// Every base of every distribution is good with every provider that it makes conditional switched off, and with all of them on.
//
// Proves: R28, R47, L-09, L-14.
func TestBaseConfigsAreGood(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		bases, err := filepath.Glob(allBases + r.line + ".yaml")
		if err != nil || len(bases) < 2 {
			t.Fatalf("%q, %v", bases, err)
		}
		if r == imageRelease(t) {
			bases = append(bases, lightBase)
		}
		var args []string
		on := map[string]bool{}
		for _, base := range bases {
			file := copyWithEnv(t, base, allOn)
			on[file] = true
			args = append(args, base, file)
		}
		for _, v := range validate(t, r, append([]string{"--base", "--libyaml"}, args...)...) {
			for _, f := range v.Findings {
				t.Errorf("%s: %s", v.Config, f)
			}
			if len(v.Providers) == 0 || on[v.Config] != (v.SwitchedOff == 0) {
				t.Errorf("%s: %d providers validated, %d switched off", v.Config, len(v.Providers), v.SwitchedOff)
			}
		}
	})
}

// The configs of the images for tests need no base.
func TestImageConfigIsGood(t *testing.T) {
	newest := releases(t)[len(releases(t))-1]
	for config, r := range map[string]release{imageConfig: imageRelease(t), newestImageConfig: newest} {
		v := validate(t, r, "--env", "VLLM_URL=http://vllm.invalid/v1", config)[0]
		for _, f := range v.Findings {
			t.Errorf("%s: %s", config, f)
		}
		if len(v.Providers) == 0 || v.SwitchedOff > 0 {
			t.Errorf("%s: %d providers validated, %d switched off", config, len(v.Providers), v.SwitchedOff)
		}
	}
}

// copyWithEnv copies a config into a folder of its own with a file env beside it, in which the validation then validates it.
func copyWithEnv(t *testing.T, file, env string) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{file: filepath.Base(file), env: "env"} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, filepath.Base(file))
}

// Every golden is loaded by the real server of its line: the whole configuration, generated from what the case holds; that it is the
// golden, the engine's own tests prove. A case that shows what the engine does with something that the release does not know (an
// unknown key of the base survives, say) holds a file want.<line>.server: the findings that it must give, each as "kind path".
//
// Proves: FR-021, L-09, L-14.
func TestGoldensAreGood(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		files := writeGoldens(t, r.line)
		if len(files) == 0 {
			if r.line == "0.7" {
				t.Fatalf("no golden of line 0.7 below %s", goldens)
			}
			return
		}
		verdicts := validate(t, r, append([]string{"--dummy", "LLSD_"}, files...)...)
		if len(verdicts) != len(files) {
			t.Fatalf("%d verdicts about %d goldens", len(verdicts), len(files))
		}
		for _, v := range verdicts {
			checkGolden(t, v)
		}
	})
}

// writeGoldens generates the configuration of each golden of a release line, and returns the files, each in a folder of the case's name with
// the case's environment beside it.
func writeGoldens(t *testing.T, line string) []string {
	t.Helper()
	wanted, err := filepath.Glob(goldens + "*/want.*yaml")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	var files []string
	for _, file := range wanted {
		if !slices.Contains(golden.LinesOf(file), line) {
			continue
		}
		dir := filepath.Dir(file)
		c, err := golden.Read(dir, line)
		if err != nil {
			t.Fatal(err)
		}
		if expected, err := c.Expected(dir); err != nil || file != expected {
			t.Fatalf("%s is not read: the golden of this case is %s, %v", file, expected, err)
		}
		result, findings := config.Generate(t.Context(), c.Input)
		if result == nil {
			t.Fatalf("%s: %v", dir, findings)
		}
		to := filepath.Join(root, filepath.Base(dir))
		if err := os.Mkdir(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if env, err := os.ReadFile(filepath.Join(dir, "env")); err == nil {
			if err := os.WriteFile(filepath.Join(to, "env"), env, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		full := filepath.Join(to, "want."+line+".yaml")
		if err := os.WriteFile(full, result.YAML, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, full)
	}
	return files
}

func checkGolden(t *testing.T, v verdict) {
	t.Helper()
	want := map[string]bool{}
	validated := filepath.Join(goldens, filepath.Base(filepath.Dir(v.Config)), filepath.Base(v.Config))
	if raw, err := os.ReadFile(strings.TrimSuffix(validated, ".yaml") + ".server"); err == nil {
		for line := range strings.Lines(string(raw)) {
			want[strings.TrimSpace(line)] = true
		}
	}
	for _, f := range v.Findings {
		if !want[f.Kind+" "+f.Path] {
			t.Errorf("%s: %s", v.Config, f)
		}
		delete(want, f.Kind+" "+f.Path)
	}
	for missing := range want {
		t.Errorf("%s: the validation did not find %q", v.Config, missing)
	}
}

// The validation is tested: each fault planted into the starter base must be found, and named by its path.
func TestPlantedFaultsAreFound(t *testing.T) {
	plants := map[string]plant{
		"wrong name of a field": {
			"base_url: ${env.VLLM_URL:=}", "url: ${env.VLLM_URL:=}",
			"ignored", "providers.inference[vllm].config.url",
		},
		"Python's name of a field that YAML calls by its alias": {
			"api_token: ${env.VLLM_API_TOKEN:=fake}", "auth_credential: x",
			"ignored", "providers.inference[vllm].config.auth_credential",
		},
		"wrong name deep in a provider's config": {
			"verify: ${env.VLLM_TLS_VERIFY:=true}", "verfy: true",
			"ignored", "providers.inference[vllm].config.network.tls.verfy",
		},
		"unknown section":                    {"version: 2\n", "version: 2\ncolor: blue\n", "ignored", "color"},
		"unknown key of the server":          {"  port: 8321\n", "  port: 8321\n  ports: 1\n", "ignored", "server.ports"},
		"unknown key of a store":             {"namespace: registry\n", "namespace: registry\n      ttl: 1\n", "ignored", "storage.stores.metadata.ttl"},
		"unknown key of a backend":           {"type: sql_sqlite\n", "type: sql_sqlite\n      connection_string: x\n", "ignored", "storage.backends.sql_default.connection_string"},
		"unknown key of a provider entry":    {"provider_type: inline::basic\n", "provider_type: inline::basic\n    enabled: true\n", "ignored", "providers.scoring[basic].enabled"},
		"unknown key of a resource":          {"  models: []\n", "  models:\n  - {model_id: m, provider_id: vllm, quantization: fp8}\n", "ignored", "registered_resources.models[m].quantization"},
		"resource without provider":          {"  models: []\n", "  models:\n  - {model_id: m}\n", "ignored", "registered_resources.models[m]"},
		"list that the release drops":        {"  models: []\n", "  models: []\n  tool_groups:\n  - {toolgroup_id: builtin::websearch, provider_id: tavily-search}\n", "ignored", "registered_resources.tool_groups"},
		"variable that is not set":           {"api_token: ${env.VLLM_API_TOKEN:=fake}", "api_token: ${env.VLLM_API_TOKEN}", "failure", ""},
		"type that the release lacks":        {"remote::vllm", "remote::vlm", "failure", "providers.inference[vllm].provider_type"},
		"value of a wrong type":              {"api_token: ${env.VLLM_API_TOKEN:=fake}", "api_token: " + canary, "failure", "providers.inference[vllm].config.api_token"},
		"backend that is not there":          {"backend: kv_default\n          namespace: agents", "backend: gone\n          namespace: agents", "failure", "providers.responses[builtin].config.persistence.agent_state.backend"},
		"resource of a provider that is off": {"  models: []\n", "  models:\n  - {model_id: m, provider_id: ollama}\n", "failure", "registered_resources.models[m].provider_id"},
		"API that the release lacks":         {"- scoring\n", "- scoring\n- telemetry\n", "failure", "apis"},
		"API that another one needs":         {"- tool_runtime\n", "", "failure", "providers.responses[builtin]"},
	}
	validatePlants(t, imageRelease(t), plants, "--env", "VLLM_URL=http://vllm.invalid/v1")
}

// What only newer releases refuse or ignore.
//
// Proves: R25, R26, L-14.
func TestPlantedFaultsOfNewerLines(t *testing.T) {
	newest := releases(t)[len(releases(t))-1]
	validatePlants(t, newest, map[string]plant{
		"neither TLS nor insecure":              {"version: 2\n", "version: 2\n", "failure", "server"},
		"API that is gone":                      {"- responses\n", "- responses\n- safety\n", "failure", "apis"},
		"providers of an API that is gone":      {"\nproviders:\n", "\nproviders:\n  safety: []\n", "failure", "providers.safety"},
		"API that nothing serves":               {"- responses\n", "- responses\n- container_runtime\n", "ignored", "apis"},
		"shields, which are gone":               {"\nregistered_resources:\n", "\nregistered_resources:\n  shields: []\n", "ignored", "registered_resources.shields"},
		"default shield, which is gone":         {"\nconnectors: []", "\nsafety: {default_shield_id: x}\nconnectors: []", "ignored", "safety"},
		"quota, which is gone":                  {"\nserver:\n", "\nserver:\n  quota: {}\n", "ignored", "server.quota"},
		"state in the form of an older release": {"      sqlstore:\n", "      kvstore:\n", "failure", "providers.batches[reference].config.sqlstore"},
		"store of the wrong kind":               {"sql_default\n      table_name: prompts", "kv_default\n      table_name: prompts", "failure", ""},
	})
}

// plant is a fault that is planted into the starter base, and the finding that it must give.
type plant struct{ old, new, kind, path string }

// canary is a value that no message may show.
const canary = "1234567890987654321"

// validatePlants plants each fault into the starter base of a release by itself.
func validatePlants(t *testing.T, r release, plants map[string]plant, args ...string) {
	t.Helper()
	base, err := os.ReadFile(starterBases + r.line + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir, names := t.TempDir(), map[string]string{}
	for name, p := range plants {
		if strings.Count(string(base), p.old) != 1 {
			t.Fatalf("%s: %q does not stand exactly once in the base", name, p.old)
		}
		file := filepath.Join(dir, fmt.Sprintf("%02d.yaml", len(names)))
		planted := strings.Replace(string(base), p.old, p.new, 1)
		if err := os.WriteFile(file, []byte(planted), 0o600); err != nil {
			t.Fatal(err)
		}
		names[file] = name
		args = append(args, file)
	}
	for _, v := range validate(t, r, args...) {
		t.Run(names[v.Config], func(t *testing.T) {
			p, hit := plants[names[v.Config]], false
			for _, f := range v.Findings {
				hit = hit || f.Kind == p.kind && f.Path == p.path
				if strings.Contains(f.Message, canary) {
					t.Errorf("the value itself is told: %s", f)
				}
			}
			if !hit {
				t.Errorf("want %s at %q, got %v", p.kind, p.path, v.Findings)
			}
		})
	}
}

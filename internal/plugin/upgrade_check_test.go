// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// sampleOf07 returns a file with the sample, set to release line 0.7.
func sampleOf07(t *testing.T, sample string) string {
	t.Helper()
	return write(t, strings.Replace(read(t, filepath.Join(samplesDir, sample)), "  distribution:\n", "  distribution:\n    version: \"0.7\"\n", 1))
}

// Proves: US-2.2 (the effects of another release: fields, state and names of models).
func TestUpgradeCheck(t *testing.T) {
	for name, test := range map[string]struct {
		sample, to string
		code       int
	}{
		"same-line": {"v1alpha2-simple.yaml", "0.7.3", cli.ExitOK},
		"next-line": {"v1alpha2-simple.yaml", "0.8", cli.ExitOK},
		"far-line":  {"v1alpha2-multi-provider.yaml", "1.4", cli.ExitOK},
		"gone-api":  {"v1alpha2-safety.yaml", "1.4", cli.ExitFailure},
		"postgres":  {"v1alpha2-postgres.yaml", "1.4.1", cli.ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			file := sampleOf07(t, test.sample)
			r := run(t, "", "upgrade-check", "-f", file, "--to", test.to)
			if r.code != test.code || r.err != "" {
				t.Errorf("exit code %d:\n%s", r.code, r.err)
			}
			expect.File(t, filepath.Join("testdata", "upgrade-check", name+".txt"), strings.ReplaceAll(r.out, file, test.sample))
		})
	}
}

// A field that is renamed between releases is compared by its value: release 0.3 calls base_url url.
func TestUpgradeCheckForPrograms(t *testing.T) {
	r := run(t, "", "upgrade-check", "-f", sampleOf07(t, "v1alpha2-simple.yaml"), "--to", "0.3", "-o", "json")
	var found struct {
		From, To string
		Possible bool
		Fields   []struct{ Path, Before, After string }
	}
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || found.From != "0.7" || found.To != "0.3" || !found.Possible {
		t.Fatalf("%v\n%s%s", err, r.err, r.out)
	}
	fields := map[string]string{}
	for _, f := range found.Fields {
		fields[f.Path] = f.Before + " → " + f.After
	}
	if fields["providers.inference[vllm].config.base_url"] != "http://vllm:8000/v1 → " || fields["providers.inference[vllm].config.url"] != " → http://vllm:8000/v1" {
		t.Errorf("%v", fields)
	}
}

// The problems' texts may differ in the release line.
func TestUpgradeCheckOmitsProblemsOfBothReleases(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cr.yaml")
	text := "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\n" +
		"spec:\n  distribution: {name: starter}\n  providers: {inference: {provider: 'remote::homegrown', endpoint: 'http://a:1'}}\n"
	framework.WriteFile(t, file, text)
	r := run(t, "", "upgrade-check", "-f", file, "--to", "1.4", "-o", "json")
	var found struct {
		Possible         bool
		Errors, Warnings []string
	}
	err := json.Unmarshal([]byte(r.out), &found)
	if err != nil || !found.Possible || len(found.Errors)+len(found.Warnings) > 0 {
		t.Errorf("%v\n%s%s", err, r.err, r.out)
	}
}

func TestUpgradeCheckRejectsInvalidUsage(t *testing.T) {
	const sample = samplesDir + "/v1alpha2-simple.yaml"
	for want, args := range map[string][]string{
		"set either a name or --filename":       {"--to", catalog.Newest()},
		"set either a name or --filename ":      {"x", "-f", sample, "--to", catalog.Newest()},
		`not a release of a known release line`: {"-f", sample, "--to", "9.9"},
		`required flag(s) "to" not set`:         {"-f", sample},
		`--output "toml": choose one of json, `: {"-f", sample, "--to", catalog.Newest(), "-o", "toml"},
	} {
		if r := run(t, "", append([]string{"upgrade-check"}, args...)...); r.code != cli.ExitUsage || !strings.Contains(r.err, strings.TrimSpace(want)) {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.err)
		}
	}
	if r := run(t, "kind: ConfigMap\n", "upgrade-check", "-f", "-", "--to", catalog.Newest()); r.code != cli.ExitFailure || !strings.Contains(r.err, "exactly one") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
	wrong := strings.Replace(read(t, sample), "provider: vllm", "provider: vlm", 1)
	if r := run(t, wrong, "upgrade-check", "-f", "-", "--to", catalog.Newest()); r.code != cli.ExitFailure || r.out != "" || !strings.Contains(r.err, `did you mean "vllm"`) {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}

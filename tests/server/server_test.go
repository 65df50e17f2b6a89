// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/golden"
)

const (
	starterBases = "../../distributions/starter/"
	allBases     = "../../distributions/*/"
	lightBase    = "testdata/light-base.yaml"
	imageConfig  = "../../hack/serverimage/light.yaml"

	newestImageConfig = "../../hack/serverimage/light-ogx.yaml"
	goldens           = "../../internal/serverconfig/testdata/"
	allOn             = "testdata/all-on.env"
)

// Proves: R28.
func TestStarterBaseMatchesPackagedConfig(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		base := starterBases + r.line + ".yaml"
		if out, differs := runScript(t, r, "packaged.py", base, "starter"); differs {
			t.Errorf("%s differs from the packaged starter:\n%s", base, out)
		}
	})
}

// The bases are valid with their conditional providers disabled, and with all of them enabled.
//
// Proves: R28, R47, L-09, L-14.
func TestBaseConfigsAreValid(t *testing.T) {
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

// The configs are complete without a base.
func TestImageConfigIsValid(t *testing.T) {
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

// copyWithEnv copies a config into a new folder, with the environment that validate.py reads beside it.
func copyWithEnv(t *testing.T, file, env string) string {
	t.Helper()
	dir := t.TempDir()
	for from, to := range map[string]string{file: filepath.Base(file), env: "env"} {
		content := framework.ReadFile(t, from)
		framework.WriteFile(t, filepath.Join(dir, to), content)
	}
	return filepath.Join(dir, filepath.Base(file))
}

// The real server loads the whole configuration of each golden. A file want.<line>.server lists the expected findings
// of a case as "kind path", for example an unknown key of the base that the engine keeps.
//
// Proves: FR-021, L-09, L-14.
func TestGoldensAreValid(t *testing.T) {
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

// writeGoldens writes the configuration of each golden of a release line into a folder of the case's name, with the
// case's environment beside it.
func writeGoldens(t *testing.T, line string) []string {
	t.Helper()
	wanted, err := filepath.Glob(goldens + "*/want.*yaml")
	framework.NoError(t, err)
	root := t.TempDir()
	var files []string
	for _, file := range wanted {
		if !slices.Contains(golden.LinesOf(file), line) {
			continue
		}
		dir := filepath.Dir(file)
		c, err := golden.Read(dir, line)
		framework.NoError(t, err)
		if expected, err := c.Expected(dir); err != nil || file != expected {
			t.Fatalf("%s is not read: the golden of this case is %s, %v", file, expected, err)
		}
		result, findings := serverconfig.Generate(t.Context(), c.Input)
		if result == nil {
			t.Fatalf("%s: %v", dir, findings)
		}
		to := filepath.Join(root, filepath.Base(dir))
		framework.NoError(t, os.Mkdir(to, 0o700))
		if env, err := os.ReadFile(filepath.Join(dir, "env")); err == nil {
			framework.WriteFile(t, filepath.Join(to, "env"), env)
		}
		full := filepath.Join(to, "want."+line+".yaml")
		framework.WriteFile(t, full, result.YAML)
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

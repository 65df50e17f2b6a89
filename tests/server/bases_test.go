// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// variant is an entry of testdata/bases.yaml, whose header explains the fields.
type variant struct {
	Name      string            `json:"name"`
	Env       map[string]string `json:"env"`
	Patch     map[string]any    `json:"patch"`
	Providers map[string][]any  `json:"providers"`
	APIs      []any             `json:"apis"`
	Except    []string          `json:"except"`
	Completed []string          `json:"completed"`
}

// baseVerdict is the operator's verdict on a base. made is the file of the generated configuration, empty if the
// operator refuses the base.
type baseVerdict struct {
	name, base, made string
	refused          string // the operator's message; empty if it accepts the base
	completed        bool   // the operator completes a base that the loader refuses
}

// The bases are all packaged configurations of the newest release of each release line, and variants of starter. The
// loader also accepts the configuration that the operator generates from an accepted base.
//
// Proves: R68, R47, R81, R28, L-14.
func TestOperatorAcceptsWhatTheLoaderAccepts(t *testing.T) {
	t.Parallel()
	var variants []variant
	raw, err := os.ReadFile("testdata/bases.yaml")
	if err == nil {
		err = yaml.UnmarshalStrict(raw, &variants)
	}
	framework.NoError(t, err)
	forEachRelease(t, func(t *testing.T, r release) {
		if !r.newest {
			return
		}
		bases := packagedBases(t, r)
		dir := t.TempDir()
		var all []baseVerdict
		for _, name := range slices.Sorted(maps.Keys(bases)) {
			all = append(all, validateBase(t, r, dir, name, bases[name], packagedEnv))
		}
		for _, v := range variants {
			if !slices.Contains(v.Except, r.line) {
				j := validateBase(t, r, dir, v.Name, v.of(t, bases["starter"]), v.Env)
				j.completed = slices.Contains(v.Completed, r.line)
				all = append(all, j)
			}
		}
		compareVerdicts(t, r, all)
	})
}

// packagedEnv sets the variables without a default in packaged configurations.
var packagedEnv = map[string]string{"INFERENCE_MODEL": "dummy", "SAFETY_MODEL": "dummy", "OCI_COMPARTMENT_OCID": "dummy", "OCI_REGION": "dummy"}

// packagedBases returns the configurations that a release ships, by the names of the distribution and of further files.
func packagedBases(t *testing.T, r release) map[string][]byte {
	t.Helper()
	venv := filepath.Dir(filepath.Dir(serverPython(t, r)))
	bases := map[string][]byte{}
	for _, pattern := range []string{"config*.yaml", "run*.yaml"} {
		files, err := filepath.Glob(filepath.Join(venv, "lib", "python3*", "site-packages", "*", "distributions", "*", pattern))
		framework.NoError(t, err)
		for _, file := range files {
			name := filepath.Base(filepath.Dir(file))
			if stem := strings.TrimSuffix(filepath.Base(file), ".yaml"); stem != "config" && stem != "run" {
				name += " " + stem
			}
			if bases[name], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(bases) < 5 || bases["starter"] == nil {
		t.Fatalf("the package of %s ships %v", r.version, slices.Sorted(maps.Keys(bases)))
	}
	return bases
}

func (v *variant) of(t *testing.T, base []byte) []byte {
	t.Helper()
	var tree map[string]any
	framework.NoError(t, yaml.Unmarshal(base, &tree))
	if v.APIs != nil {
		tree["apis"] = append(tree["apis"].([]any), v.APIs...)
	}
	for api, entries := range v.Providers {
		providers := tree["providers"].(map[string]any)
		before, _ := providers[api].([]any)
		providers[api] = append(before, entries...)
	}
	merge(tree, v.Patch)
	written, err := yaml.Marshal(tree)
	framework.NoError(t, err)
	return written
}

// merge applies a JSON merge patch to a map.
func merge(tree, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(tree, key)
		case isMap:
			target, ok := tree[key].(map[string]any)
			if !ok {
				target = map[string]any{}
			}
			merge(target, inner)
			tree[key] = target
		default:
			tree[key] = value
		}
	}
}

// validateBase registers a base and generates the configuration of a resource that changes nothing.
func validateBase(t *testing.T, r release, dir, name string, base []byte, env map[string]string) baseVerdict {
	t.Helper()
	folder := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
	j := baseVerdict{name: name, base: filepath.Join(folder, "base.yaml")}
	var variables strings.Builder
	spec := &v1alpha2.LlamaStackDistributionSpec{Workload: &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{}}}
	for _, key := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&variables, "%s=%s\n", key, env[key])
		spec.Workload.Overrides.Env = append(spec.Workload.Overrides.Env, corev1.EnvVar{Name: key, Value: env[key]})
	}
	write := func(file string, content []byte) {
		t.Helper()
		framework.WriteFile(t, file, content)
	}
	framework.NoError(t, os.Mkdir(folder, 0o700))
	write(j.base, base)
	write(filepath.Join(folder, "env"), []byte(variables.String()))
	cm := &corev1.ConfigMap{Data: map[string]string{"image": "registry.example.com/x:" + r.version, "config.yaml": string(base)}}
	cm.Name, cm.Labels = "x", map[string]string{settings.LabelDistribution: "x"}
	known, err := settings.Parse(nil, settings.ParseRegistration(cm))
	framework.NoError(t, err)
	distribution, problem := known.Resolve(&v1alpha2.DistributionSpec{Name: new("x")})
	if problem != nil {
		j.refused = problem.String()
		return j
	}
	line, _ := catalog.Get(r.line)
	result, problems := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "x", Namespace: "x", Spec: parse.Parse(spec), Base: distribution.Base, Line: line,
	})
	if result == nil {
		j.refused = problems.Message()
		return j
	}
	j.made = filepath.Join(folder, "made.yaml")
	write(j.made, result.YAML)
	return j
}

func compareVerdicts(t *testing.T, r release, all []baseVerdict) {
	t.Helper()
	var files []string
	for _, j := range all {
		if files = append(files, j.base); j.made != "" {
			files = append(files, j.made)
		}
	}
	failures := map[string][]string{}
	for _, v := range validate(t, r, append([]string{"--base", "--libyaml"}, files...)...) {
		for _, f := range v.Findings {
			if f.Kind == "failure" {
				failures[v.Config] = append(failures[v.Config], f.String())
			}
		}
	}
	refused := 0
	for _, j := range all {
		loader := failures[j.base]
		switch {
		case j.refused != "" && loader == nil:
			t.Errorf("%s: the loader accepts it, the operator refuses it: %s", j.name, j.refused)
		case j.refused == "" && (loader != nil) != j.completed:
			t.Errorf("%s: the operator accepts it, the loader says: %s", j.name, strings.Join(loader, "; "))
		case j.refused == "" && failures[j.made] != nil:
			t.Errorf("%s: the loader refuses what the operator makes of it: %s", j.name, strings.Join(failures[j.made], "; "))
		case j.refused != "":
			refused++
		}
	}
	t.Logf("%d bases, %d refused by both", len(all), refused)
	if len(all) < 60 || refused < 20 {
		t.Errorf("%d bases, %d refused by both: that proves little", len(all), refused)
	}
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// inputsOf returns the inputs for a custom resource with this spec and conversion annotation, which may be empty.
func inputsOf(t *testing.T, spec, annotation string) *Inputs {
	t.Helper()
	in := inputs(t, "distribution-only")
	in.CR.Spec = v1alpha2.LlamaStackDistributionSpec{}
	framework.NoError(t, yaml.UnmarshalStrict([]byte(spec), &in.CR.Spec))
	if annotation != "" {
		in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: annotation}
	}
	resolve(t, in, nil)
	if in.CR.Spec.OverrideConfig != nil {
		findOverride(t, in, complete+"server: {workers: 3}\n")
	}
	return in
}

// Proves: R15, R21 (a number that does not reach the server is a warning for v1alpha1 and an error for v1alpha2).
func TestWorkersWithoutGeneratedConfiguration(t *testing.T) {
	const unknown, own = "distribution: {image: 'registry.example/mine:latest'}\n", "overrideConfig: {configMapName: mine}\n"
	const overridden = "spec.workload.workers: has no effect with spec.overrideConfig, whose configuration decides: " +
		"write workers: 4 under server: in the key \"config.yaml\" of ConfigMap mine, or remove the field"
	for name, c := range map[string]struct {
		spec, annotation, fault, warning string
	}{
		"image of its own, one worker":           {unknown + "workload: {workers: 1}", "", "", ""},
		"image of its own, one worker, v1alpha1": {unknown + "workload: {workers: 1}", fromV1alpha1, "", ""},
		"image of its own, four workers": {unknown + "workload: {workers: 4}", "", "spec.workload.workers: Invalid value: 4: more than one worker needs a generated configuration: " +
			"remove the field, or fix this: Distribution image registry.example/mine:latest missing config labels. Add labels", ""},
		"image of its own, four workers, v1alpha1":   {unknown + "workload: {workers: 4}", fromV1alpha1, "", "image registry.example/mine:latest runs its own configuration"},
		"image of its own, workers and a provider":   {unknown + "workload: {workers: 1}\ndisabled: [eval]", "", "spec.distribution: Invalid value: Distribution image registry.example/mine:latest missing config labels", ""},
		"image of its own, four workers, a provider": {unknown + "workload: {workers: 4}\ndisabled: [eval]", "", "spec.distribution: Invalid value: Distribution image", ""},
		"own configuration, four workers":            {"distribution: {name: starter}\n" + own + "workload: {workers: 4}", "", "", overridden},
		"own configuration, four workers, v1alpha1":  {"distribution: {name: starter}\n" + own + "workload: {workers: 4}", fromV1alpha1, "", ""},
		"own configuration and command, four workers, v1alpha1": {
			"distribution: {name: starter}\n" + own + "workload: {workers: 4, overrides: {command: [serve]}}", fromV1alpha1, "", overridden,
		},
		"own configuration, two workers": {"distribution: {name: starter}\n" + own + "workload: {workers: 2}", "", "", strings.Replace(overridden, "4", "2", 1)},
		"own configuration, its number":  {"distribution: {name: starter}\n" + own + "workload: {workers: 3}", "", "", ""},
		"own configuration, one worker":  {"distribution: {name: starter}\n" + own + "workload: {workers: 1}", "", "", ""},
		"own command that counts on the variable": {
			"distribution: {name: starter}\n" + own + "workload: {workers: 4, overrides: {args: ['serve --workers $LLS_WORKERS']}}", fromV1alpha1, "", "",
		},
		"known image": {"distribution: {name: starter}\nworkload: {workers: 4}", "", "", "spec.workload.workers: each worker is a process"},
	} {
		t.Run(name, func(t *testing.T) {
			d, faults := buildWith(t.Context(), inputsOf(t, c.spec, c.annotation))
			if got := faults.Message(); (c.fault == "") != (got == "") || !strings.Contains(got, c.fault) {
				t.Fatalf("faults %q, want %q", got, c.fault)
			}
			if c.fault == "" && len(deployment(t, d.Objects).Spec.Template.Spec.Containers) != 1 {
				t.Error("no server")
			}
			got := warningsWithout(d, "each pod requests")
			if (c.warning == "") != (got == "") || !strings.Contains(got, c.warning) {
				t.Errorf("warnings %q, want %q", got, c.warning)
			}
		})
	}
}

// Proves: R21, R43, R45 (only a userConfig of v1alpha1 gets the number, and the rest of it stays unchanged).
func TestWorkersOfV1alpha1ReachTheServer(t *testing.T) {
	const file = "version: 2\nproviders: {inference: []} # none\nserver: {workers: 3, port: 8321}\nmetadata_store: ${env.X:=y}\n"
	for name, c := range map[string]struct{ spec, annotation, want string }{
		"written": {
			"workload: {workers: 4}", fromV1alpha1,
			"# The key config.yaml of ConfigMap mine, with server.workers of the custom resource.\n" +
				"version: 2\nproviders:\n  inference: []\nserver:\n  workers: 4\n  port: 8321\nmetadata_store: ${env.X:=y}\n",
		},
		"the same number":   {"workload: {workers: 3}", fromV1alpha1, file},
		"one":               {"workload: {workers: 1}", fromV1alpha1, file},
		"none":              {"workload: {replicas: 1}", fromV1alpha1, file},
		"a command":         {"workload: {workers: 4, overrides: {command: [x]}}", fromV1alpha1, file},
		"not from v1alpha1": {"workload: {workers: 3}", "", file},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputsOf(t, "distribution: {name: starter}\noverrideConfig: {configMapName: mine}\n"+c.spec, c.annotation)
			findOverride(t, in, file)
			d, faults := buildWith(t.Context(), in)
			if faults.HasErrors() {
				t.Fatal(faults.Message())
			}
			if got := string(d.OverrideContent); got != c.want || d.OverrideEdited != (got != file) {
				t.Errorf("the server gets (edited: %v)\n%s\nwant\n%s", d.OverrideEdited, got, c.want)
			}
		})
	}
}

// warningsWithout returns the warnings that do not contain the text.
func warningsWithout(d *result, text string) string {
	var lines []string
	for _, w := range d.Warnings {
		if line := w.String(); !strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// Proves: R21, R22 (v1alpha1 keeps the variables; v1alpha2 gets a warning with the fix).
func TestVariablesOfRelease09(t *testing.T) {
	const spec = `
distribution: {name: starter}
networking: {port: 9000}
workload: {workers: 2, overrides: {command: [sh, -c], args: ['exec mine --port ${LLS_PORT} --workers $(LLS_WORKERS) $LLAMA_STACK_CONFIG']}}`
	in := inputsOf(t, spec, fromV1alpha1)
	d := build(t, in)
	env := deployment(t, d.Objects).Spec.Template.Spec.Containers[0].Env
	for _, want := range []corev1.EnvVar{
		{Name: "LLS_PORT", Value: "9000"}, {Name: "LLS_WORKERS", Value: "2"}, {Name: "LLAMA_STACK_CONFIG", Value: "/etc/llama-stack/config.yaml"},
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not %s in %v", want.Name, want.Value, env)
		}
	}
	if got := warningsWithout(d, "each pod requests"); got != "" {
		t.Errorf("warnings %s", got)
	}

	later := inputsOf(t, spec, "")
	d = build(t, later)
	for _, v := range deployment(t, d.Objects).Spec.Template.Spec.Containers[0].Env {
		if slices.Contains([]string{objects.LegacyPortVariable, objects.LegacyWorkersVariable, objects.LegacyConfigVariable}, v.Name) {
			t.Errorf("a custom resource of v1alpha2 has %s", v.Name)
		}
	}
	for _, want := range []string{
		"the variable LLS_PORT, which only custom resources of v1alpha1 have: use $LLAMA_STACK_PORT",
		"the variable LLS_WORKERS, which only custom resources of v1alpha1 have: use the number itself, 2",
		"the variable LLAMA_STACK_CONFIG, which only custom resources of v1alpha1 have: use $RUN_CONFIG_PATH",
	} {
		if got := warningsWithout(d, "each pod requests"); !strings.Contains(got, want) {
			t.Errorf("warnings %s\nwant %s", got, want)
		}
	}
	if hashOf(in) == hashOf(later) {
		t.Error("the environment changes, and the hash of the inputs does not")
	}
	set := inputsOf(t, strings.Replace(spec, "{command", "{env: [{name: LLS_PORT, value: '1'}, {name: LLS_WORKERS, value: '1'}, {name: LLAMA_STACK_CONFIG, value: x}], command", 1), "")
	if got := warningsWithout(build(t, set), "each pod requests"); got != "" {
		t.Errorf("warnings although the variables are set: %s", got)
	}
	one := inputsOf(t, strings.Replace(spec, "{command", "{env: [{name: LLS_PORT, value: '1'}], command", 1), "")
	if got := warningsWithout(build(t, one), "each pod requests"); strings.Contains(got, "LLS_PORT") || !strings.Contains(got, "LLS_WORKERS") {
		t.Errorf("warnings where one of the variables is set: %s", got)
	}
}

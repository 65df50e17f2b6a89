// SPDX-License-Identifier: Apache-2.0

package playground_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/playground"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

func engine(t testing.TB) *playground.Engine {
	t.Helper()
	e, err := playground.New()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ask(t *testing.T, e *playground.Engine, q playground.Request) *playground.Response {
	t.Helper()
	a, err := e.Run(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// render returns the output of the render command, and reports whether it accepts all files.
func render(t *testing.T, line, format string, files ...string) (string, bool) {
	t.Helper()
	var out, notes bytes.Buffer
	args := []string{"render", "-o", format, "--server-version", line}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	code := plugin.Run(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &notes})
	return out.String(), code == cli.ExitOK
}

// The playground shows the same bytes as render for each sample and release line, and rejects the same input.
func TestResultsMatchRender(t *testing.T) {
	e := engine(t)
	samples, err := filepath.Glob("../../../config/samples/v1alpha2-*.yaml")
	if err != nil || len(samples) < 20 {
		t.Fatal(samples, err)
	}
	for _, line := range append(catalog.Lines(), "") {
		var accepted, configs, objects []string
		for _, sample := range samples {
			text, err := os.ReadFile(sample)
			if err != nil {
				t.Fatal(err)
			}
			a := ask(t, e, playground.Request{Text: string(text), Release: line})
			if firstOf(a, "error") == nil {
				accepted, objects = append(accepted, sample), append(objects, a.Objects)
				if a.Config != "" {
					configs = append(configs, a.Config)
				}
			} else if _, good := render(t, line, "config", sample); good {
				t.Errorf("%s, %q: render accepts it: %v", sample, line, a.Problems)
			}
		}
		if len(accepted) == 0 {
			t.Errorf("%q: no sample is accepted", line)
		}
		for format, of := range map[string][]string{"config": configs, "yaml": objects} {
			if want, good := render(t, line, format, accepted...); !good || want != strings.Join(of, "---\n") {
				t.Errorf("%q, %s: accepted: %v (-render +page):\n%s", line, format, good, cmp.Diff(want, strings.Join(of, "---\n")))
			}
		}
	}
}

func firstOf(a *playground.Response, severity string) *playground.Problem {
	for i := range a.Problems {
		if a.Problems[i].Severity == severity {
			return &a.Problems[i]
		}
	}
	return nil
}

const start = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\nspec:\n  distribution: {name: starter}\n"

// Proves: R90 (the reply explains the chosen release line and invalid versions).
func TestProblemsAreAtTheirLine(t *testing.T) {
	e := engine(t)
	for name, c := range map[string]struct {
		text, severity, path string
		line                 int
	}{
		"unknown field":          {start + "  replica: 1\n", "error", "spec.replica", 6},
		"unknown provider":       {start + "  providers:\n    inference:\n      provider: vlm\n", "error", "spec.providers.inference.provider", 8},
		"not YAML":               {start + "  a: [\n", "error", "", 6},
		"nothing":                {"a: b\n", "error", "", 1},
		"empty":                  {"", "error", "", 1},
		"the second document":    {start + "---\n" + strings.Replace(start, "starter", "strter", 1), "error", "spec.distribution.name", 11},
		"release without a base": {strings.Replace(start, "starter", "starter, version: '99.1'", 1), "error", "spec.distribution.version", 5},
		"older release line":     {start + "  providers:\n    safety:\n      provider: llama-guard\n", "note", "spec.distribution.name", 5},
		"old version":            {strings.Replace(start, "v1alpha2", "v1alpha9", 1), "error", "apiVersion", 1},
		"assumed of a cluster":   {start + "  providers:\n    inference:\n      provider: vllm\n      endpointFrom: {kind: Service, name: vllm}\n", "note", "spec.providers.inference.endpointFrom", 9},
	} {
		a := ask(t, e, playground.Request{Text: c.text})
		if p := firstOf(a, c.severity); p == nil || p.Path != c.path || p.Line != c.line {
			t.Errorf("%s: %+v", name, a.Problems)
		}
		if (a.Config == "") != (c.severity == "error") {
			t.Errorf("%s: config.yaml is %q", name, a.Config)
		}
	}
	if _, err := e.Run(t.Context(), playground.Request{Text: strings.Repeat("#", 2<<20)}); err == nil {
		t.Error("a text of 2 MiB is read")
	}
}

// Proves: R88 (the findings in a file of overrideConfig are at their line in the ConfigMap beside the custom resource).
func TestFindingsInAConfigMapAreAtTheirLine(t *testing.T) {
	const resource = start + "  overrideConfig: {configMapName: own}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"block":            {resource + "data:\n  other.txt: a\n  config.yaml: |\n    version: 2\n    distro_name: a\n    providers: {}\n    modles: []\n", 17},
		"quoted":           {resource + "data:\n  other.txt: a\n  config.yaml: \"version: 2\\ndistro_name: a\\nproviders: {}\\nmodles: []\\n\"\n", 13},
		"run.yaml in JSON": {resource + `data: {"run.yaml": "version: 2\ndistro_name: a\nproviders: {}\nmodles: []\n"}` + "\n", 11},
	} {
		a := ask(t, engine(t), playground.Request{Text: c.text, Release: "1.5"})
		at := slices.IndexFunc(a.Problems, func(p playground.Problem) bool { return strings.Contains(p.Path, ":4:9: modles") })
		if at < 0 || a.Problems[at].Line != c.line || a.Problems[at].Severity != "warning" {
			t.Errorf("%s: %+v", name, a.Problems)
		}
	}
}

// A ConfigMap of one request does not affect the next.
func TestRequestsAreIndependent(t *testing.T) {
	e := engine(t)
	text := start + "  overrideConfig: {name: own}\n"
	first := ask(t, e, playground.Request{Text: text})
	ask(t, e, playground.Request{Text: text + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {config.yaml: 'version: 2'}\n"})
	if diff := cmp.Diff(first, ask(t, e, playground.Request{Text: text})); diff != "" {
		t.Error(diff)
	}
}

func TestDifferenceToAnotherRelease(t *testing.T) {
	e := engine(t)
	a := ask(t, e, playground.Request{Text: start, Release: "0.7", Compare: catalog.Newest()})
	if a.Difference == nil || len(a.Difference.Reports) != 1 || len(a.Difference.Reports[0].Config) == 0 {
		t.Errorf("%+v", a.Difference)
	}
	a = ask(t, e, playground.Request{Text: start, Release: "0.7", Compare: "0.7"})
	if a.Difference == nil || !a.Difference.Reports[0].Empty() {
		t.Errorf("%+v", a.Difference)
	}
}

func TestChoices(t *testing.T) {
	e := engine(t)
	for path, want := range map[string]string{
		"": "spec", "spec": "distribution", "spec.workload": "replicas", "spec.providers.inference": "endpoint", "spec.resources.models": "name",
		"spec.distribution.name": "starter", "spec.providers.inference.provider": "vllm", "kind": "LlamaStackDistribution", "metadata": "name",
	} {
		c := e.Complete(playground.Position{Path: path})
		if !slices.Contains(c.Values, want) && !slices.ContainsFunc(c.Fields, func(f playground.Field) bool { return f.Name == want }) {
			t.Errorf("%q does not offer %s: %+v", path, want, c)
		}
	}
	if c := e.Complete(playground.Position{Path: "spec.nothing"}); len(c.Fields)+len(c.Values) > 0 {
		t.Errorf("%+v", c)
	}
	old := e.Complete(playground.Position{Path: "spec.providers.safety.provider", Release: catalog.Lines()[0]})
	if slices.Equal(old.Values, e.Complete(playground.Position{Path: "spec.providers.safety.provider"}).Values) {
		t.Error("the oldest release line has the same safety providers as the newest")
	}
}

// The engine is a download, so it must not import clients of clusters or registries, or commands.
func TestImportsStayFew(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"k8s.io/client-go/", "go-containerregistry/pkg/v1", "k8s.io/apiserver/pkg/admission", "internal/plugin/cli", "sigs.k8s.io/controller-runtime"} {
		for path := range strings.Lines(string(out)) {
			if strings.Contains(path, heavy) {
				t.Errorf("the engine imports %s", path)
			}
		}
	}
}

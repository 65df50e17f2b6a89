// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FR-075, NFR-004, US-2.2, US-2.3, FR-070, R14 (messages name file, line, resource and field, as in render).
func TestBadInput(t *testing.T) {
	for _, file := range glob(t, "testdata/bad/*.yaml") {
		t.Run(stem(file), func(t *testing.T) {
			checked := run(t, "", "validate", file)
			expect.File(t, strings.TrimSuffix(file, ".yaml")+".want", checked.out)
			rendered := run(t, "", "render", "-f", file)
			if checked.code != cli.ExitFailure || rendered.code != cli.ExitFailure || rendered.out != "" {
				t.Errorf("exit codes %d and %d, and render prints %q", checked.code, rendered.code, rendered.out)
			}
			if !strings.Contains(file, "yaml.yaml") && !strings.Contains(file, "twice") && rendered.err != checked.out {
				t.Errorf("render says something else (-validate +render):\n%s", cmp.Diff(checked.out, rendered.err))
			}
		})
	}
}

// Proves: FR-075, FR-013.
func TestSamplesAreValid(t *testing.T) {
	r := run(t, "", "validate", "-f", samplesDir)
	want := fmt.Sprintf("%d checked, 2 with errors or warnings, 1 of other kinds skipped\n", len(glob(t, samplesDir+"/v1alpha2-*.yaml"))+1)
	// Notes: four samples have a PVC, endpointFrom addresses are known only in the cluster, and one sample uses safety.
	notes := strings.Split(r.err, "\n")[:7]
	for i, what := range []string{
		"a change that restarts its pod makes the server unavailable ",
		"a change that restarts its pod makes the server unavailable ",
		"a change that restarts its pod makes the server unavailable ",
		"a change that restarts its pod makes the server unavailable ",
		"endpoint-from: spec.providers.inference.endpointFrom: only the cluster knows the address of ",
		"endpoint-from: spec.resources.tools[0].endpointFrom: only the cluster knows the address of ",
		"safety: spec.distribution.name: release line 0.7 is used instead of " + catalog.Newest() + ", because of spec.providers.safety (in release lines 0.3 to 0.8), ",
	} {
		if !strings.Contains(notes[i], " note: "+what) {
			t.Errorf("note %d: %s", i, notes[i])
		}
	}
	if r.code != cli.ExitOK || !strings.HasSuffix(r.err, want) || strings.Count(r.err, "\n") != len(notes)+1 {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	// Two samples have warnings, which their comments explain.
	warned := strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
	for i, what := range []string{
		"my-stack: spec.networking.expose: the server has no authentication", "my-stack: spec.workload.autoscaling.maxReplicas: each pod has its own state",
		"safety: spec.distribution: image docker.io/ogxai/distribution-starter:0.7.1 may not be published",
	} {
		if len(warned) != 3 || !strings.Contains(warned[i], "v1alpha2-"+[]string{"autoscaling", "autoscaling", "safety"}[i]+".yaml:") ||
			!strings.Contains(warned[i], " warning: "+what) {
			t.Errorf("%s:\n%s", what, r.out)
		}
	}
	for _, file := range []string{"testdata/good/several.yaml", "testdata/good/values-unknown.yaml"} {
		if r := run(t, "", "validate", file); r.code != cli.ExitOK || r.out != "" {
			t.Errorf("%s: exit code %d:\n%s", file, r.code, r.out)
		}
	}
}

// The output ends with "ok" for a single file without findings only.
func TestValidateEndsWithOK(t *testing.T) {
	sample := samplesDir + "/v1alpha2-simple.yaml"
	for _, c := range []struct {
		ok    bool
		files []string
	}{{true, []string{sample}}, {false, []string{"testdata/good/warning.yaml"}}, {false, []string{sample, samplesDir + "/v1alpha2-multi-provider.yaml"}}} {
		r := run(t, "", append([]string{"validate"}, c.files...)...)
		if r.code != cli.ExitOK || strings.HasSuffix(r.err, "\n"+sample+": ok\n") != c.ok || strings.Contains(r.err, ": ok") != c.ok {
			t.Errorf("%v: exit code %d, and it ends with\n%s", c.files, r.code, r.err)
		}
	}
	if r := run(t, "", "validate", "-o", "yaml", sample); r.code != cli.ExitOK || !strings.HasPrefix(r.out, "checked: 1\nfindings: []\n") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// Proves: R61, FR-075 (values that Kubernetes rejects are found offline, with the field of the custom resource).
func TestValidateFindsObjectsThatKubernetesRejects(t *testing.T) {
	wrong := slices.Concat(framework.RejectedValues(), framework.InvalidNames())
	var documents strings.Builder
	for i, c := range wrong {
		fmt.Fprintf(&documents, "---\napiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s%d}\nspec:\n  distribution: {name: starter}\n  %s\n",
			i, c.Spec)
	}
	var got struct {
		Checked  int
		Findings []struct{ Resource, Severity, Path, Message string }
	}
	r := run(t, documents.String(), "validate", "-f", "-", "-o", "json")
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != cli.ExitFailure || got.Checked != len(wrong) {
		t.Fatalf("exit code %d, %d checked, %v: %s", r.code, got.Checked, err, r.err)
	}
	messages := map[string][]string{}
	for _, f := range got.Findings {
		if f.Severity == "error" {
			messages[f.Resource] = append(messages[f.Resource], f.Message)
		}
	}
	for i, c := range wrong {
		list := messages[fmt.Sprintf("s%d", i)]
		if !slices.ContainsFunc(list, func(m string) bool { return strings.HasPrefix(m, c.Problem) }) {
			t.Errorf("%s: want %q in %q", c.Spec, c.Problem, list)
		}
	}
}

// Proves: R47 (names from the settings are valid with --settings; otherwise the message mentions the flag).
func TestValidateWithSettings(t *testing.T) {
	const file = "testdata/good/in-house.yaml"
	if r := run(t, "", "validate", file, "--settings", "testdata/settings.yaml"); r.code != cli.ExitOK || r.out != "" {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
	if r := run(t, "", "validate", file); r.code != cli.ExitFailure || !strings.Contains(r.out, "pass that ConfigMap with --settings") {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
}

// Proves: NFR-004 (a finding is an annotation at its line; the content of a file cannot add commands).
func TestValidateForGitHub(t *testing.T) {
	file := write(t, "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata:\n  name: \"a,b:c%\\n::error::x\"\n"+
		"spec:\n  distribution:\n    name: starter\n  disabled: eval\n")
	r := run(t, "", "validate", "-f", file, "--output", "github")
	if r.code != cli.ExitFailure || r.out == "" {
		t.Errorf("exit code %d:\n%s", r.code, r.out)
	}
	for line := range strings.Lines(r.out) {
		failure, warning := "::error file="+file+",line=", "::warning file="+file+",line=5," // the warning says that rules were not checked
		if !strings.HasPrefix(line, failure) && !strings.HasPrefix(line, warning) || !strings.Contains(line, ",title=a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3Ax::") {
			t.Errorf("not an annotation of its own: %q", line)
		}
	}
	if !strings.Contains(r.out, ",line=8,") {
		t.Errorf("nothing at the line of spec.disabled:\n%s", r.out)
	}
	warned := run(t, "", "validate", "-f", "testdata/good/warning.yaml", "--output", "github")
	if warned.code != cli.ExitOK || !strings.HasPrefix(warned.out, "::warning file=testdata/good/warning.yaml,line=") {
		t.Errorf("exit code %d:\n%s", warned.code, warned.out)
	}
}

// Proves: NFR-004.
func TestValidateAsJSON(t *testing.T) {
	const clean = samplesDir + "/override-config.yaml" // with a ConfigMap, which counts as read
	r := run(t, read(t, "testdata/bad/unknown-field.yaml"), "validate", "-f", "-", "-f", "testdata/bad/no-yaml.yaml", "-o", "json", clean)
	var got struct {
		Valid            bool
		Checked, Skipped int
		Findings         []map[string]any
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatalf("%v:\n%s", err, r.out)
	}
	if r.code != cli.ExitFailure || r.err != "" || got.Valid || got.Checked != 2 || got.Skipped != 0 || len(got.Findings) != 2 {
		t.Fatalf("exit code %d, standard error %q, result %+v", r.code, r.err, got)
	}
	if f := got.Findings[0]; f["file"] != "testdata/bad/no-yaml.yaml" || f["line"] != 3.0 || f["severity"] != "error" || f["code"] != "InvalidField" || f["path"] != "document" {
		t.Errorf("the unreadable file: %v", f)
	}
	want := map[string]any{
		"file": "stdin", "line": 8.0, "resource": "unknown-field", "severity": "error", "code": "UnknownField", "path": "spec.workloads",
		"message": `spec.workloads: unknown field: did you mean "workload"?`,
	}
	if diff := cmp.Diff(want, got.Findings[1]); diff != "" {
		t.Errorf("the unknown field (-want +got):\n%s", diff)
	}
	if r := run(t, "", "validate", "-o", "json", clean); !strings.Contains(r.out, `"findings": []`) {
		t.Errorf("no findings are not an empty list:\n%s", r.out)
	}
}

// Proves: NFR-004 (directories are read with and without their subdirectories).
func TestValidateDirectories(t *testing.T) {
	dir := t.TempDir()
	framework.NoError(t, os.MkdirAll(filepath.Join(dir, "team", "a"), 0o750))
	for name, content := range map[string]string{
		"right.yaml":     read(t, samplesDir+"/v1alpha2-simple.yaml"),
		"team/a/bad.yml": read(t, "testdata/bad/unknown-field.yaml"),
		"notes.txt":      "not: [read",
	} {
		framework.WriteFile(t, filepath.Join(dir, name), content)
	}
	if r := run(t, "", "validate", "-f", dir); r.code != cli.ExitOK || !strings.HasPrefix(r.err, "1 checked") {
		t.Errorf("without -R: exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	if r := run(t, "", "validate", "-R", "-f", dir); r.code != cli.ExitFailure || !strings.HasPrefix(r.err, "2 checked, 1 with") {
		t.Errorf("with -R: exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	if r := run(t, "", "validate", "-f", filepath.Join(dir, "team")); r.code != cli.ExitFailure || !strings.Contains(r.out, "no .yaml, .yml or .json files") {
		t.Errorf("a directory without manifests: exit code %d:\n%s", r.code, r.out)
	}
}

// Proves: FR-075 (a hook that gets every YAML file of a repository passes over Helm templates, and names them).
func TestValidateSkipsHelmTemplates(t *testing.T) {
	const head = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n"
	dir := t.TempDir()
	texts := map[string]string{
		"conditional": "{{- if .Values.enabled }}\n" + head + "metadata: {name: a}\nspec: {distribution: {name: starter}}\n---\n{{- end }}\n",
		"value":       head + "metadata:\n  name: {{ .Release.Name }}\nspec:\n  replicas: {{ .Values.replicas }}\n",
		"include":     head + "metadata:\n  name: a\n  {{- include \"labels\" . | nindent 2 }}\n",
		"quoted":      head + "metadata:\n  name: \"{{ .Release.Name }}\"\nspec: {distribution: {name: starter}}\n",
	}
	for name, text := range texts {
		framework.WriteFile(t, filepath.Join(dir, name+".yaml"), text)
	}
	for name, line := range map[string]int{"conditional": 1, "value": 4, "include": 5, "quoted": 4} {
		file := filepath.Join(dir, name+".yaml")
		want := fmt.Sprintf("%s:%d: note: skipped a Helm template: check what it renders: helm template CHART | kubectl llamastack validate -f -\n"+
			"0 checked, 0 with errors or warnings, 0 of other kinds skipped, 1 Helm template skipped\n", file, line)
		for _, format := range []string{"text", "json", "github"} {
			r := run(t, "", "validate", "--strict", "-o", format, file)
			if r.code != cli.ExitOK || !strings.HasPrefix(want, r.err) || r.err == "" || strings.Contains(r.out, "error") {
				t.Errorf("%s: exit code %d, want\n%sgot\n%s%s", format, r.code, want, r.err, r.out)
			}
		}
		// Other verbs and standard input have no other file to go on with.
		if r := run(t, read(t, file), "validate", "-f", "-"); name != "quoted" && (r.code != cli.ExitFailure ||
			!strings.Contains(r.out, ": error: document: not YAML: ") || !strings.Contains(r.out, ": this looks like a Helm template: pass what helm template prints\n")) {
			t.Errorf("%s from standard input: exit code %d:\n%s", name, r.code, r.out)
		}
		if r := run(t, "", "render", "-f", file); name != "quoted" && (r.code != cli.ExitFailure || !strings.Contains(r.err, ": this looks like a Helm template: ")) {
			t.Errorf("%s in render: exit code %d:\n%s", name, r.code, r.err)
		}
	}
	r := run(t, "", "validate", dir, "testdata/bad/unknown-field.yaml")
	if r.code != cli.ExitFailure || strings.Count(r.err, ": note: skipped a Helm template: ") != len(texts) || strings.Count(r.out, "\n") != 1 {
		t.Errorf("beside a wrong file: exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	// Braces of other languages, and in YAML that is valid, hide no error.
	for what, text := range map[string]string{
		"Jinja":           head + "metadata:\n  name: {{ name }}\n",
		"a comment":       "# {{ .Values.x }}\n" + head + "metadata:\n  name: [\n",
		"a prompt":        head + "metadata: {name: A}\nspec: {distribution: {name: starter}, providers: {inference: {provider: vllm, endpoint: 'http://v:1', settings: {prompt: '{{ $x }} {{ content }}'}}}}\n",
		"a valid comment": "# {{ .Values.x }}\n" + head + "metadata: {name: A}\nspec: {distribution: {name: starter}}\n",
	} {
		if r := run(t, "", "validate", write(t, text)); r.code != cli.ExitFailure || strings.Contains(r.out+r.err, "Helm template") {
			t.Errorf("%s: exit code %d:\n%s%s", what, r.code, r.out, r.err)
		}
	}
}

// Proves: FR-075 (a list is read as its items; a template and a server of the successor's kind say what to do with them).
func TestValidateNamesWhatItCannotCheck(t *testing.T) {
	const item = "\n- apiVersion: llamastack.io/v1alpha2\n  kind: LlamaStackDistribution\n  metadata: {name: \"${NAME}\"}\n  spec: {distribution: {name: starter}}\n"
	const template = "kind: Template\nmetadata: {name: t}\nparameters: [{name: NAME}]\nobjects:"
	list := write(t, "apiVersion: v1\nkind: List\nitems:"+strings.Replace(item, "${NAME}", "A", 1))
	if r := run(t, "", "validate", list); r.code != cli.ExitFailure || !strings.HasPrefix(r.out, list+":6: error: A: metadata.name: Invalid value: \"A\": ") {
		t.Errorf("a list: exit code %d:\n%s", r.code, r.out)
	}
	const convert = "skipped OGXServer s: it belongs to the operator of OGX, the successor of llama-stack: convert it: kubectl llamastack convert -f FILE --to llamastack.io/v1alpha2"
	for text, want := range map[string]string{
		"apiVersion: template.openshift.io/v1\n" + template + item:                        "skipped Template t with LlamaStackDistribution ${NAME}: fill in its parameters: oc process --local -f FILE | kubectl llamastack validate -f -",
		"apiVersion: v1\n" + template + item + item:                                       "skipped Template t with LlamaStackDistribution ${NAME}, ${NAME}: fill in its parameters: oc process --local -f FILE | kubectl llamastack validate -f -",
		"apiVersion: template.openshift.io/v1\n" + template + "\n- {kind: Secret}\n- 1\n": "",
		"apiVersion: example.com/v1\n" + template + item:                                  "",
		"apiVersion: ogx.io/v1beta1\nkind: OGXServer\nmetadata: {name: s}\n":              convert,
		"apiVersion: ogx.io/v1alpha1\nkind: OGXServer\nmetadata: {name: s}\n":             convert,
		"apiVersion: ogx.io/v1alpha1\nkind: Other\nmetadata: {name: s}\n":                 "",
	} {
		file := write(t, text)
		r := run(t, "", "validate", file)
		if want != "" {
			want = file + ":1: note: " + strings.ReplaceAll(want, "FILE", file) + "\n"
		}
		if r.code != cli.ExitOK || r.out != "" || r.err != want+"0 checked, 0 with errors or warnings, 1 of other kinds skipped\n" {
			t.Errorf("exit code %d, want\n%sgot\n%s%s", r.code, want, r.out, r.err)
		}
		rendered := run(t, "", "render", "-f", file)
		if want = strings.ReplaceAll(want, "llamastack validate", "llamastack render"); rendered.code != cli.ExitFailure || !strings.HasPrefix(rendered.err, want) {
			t.Errorf("render: exit code %d, want\n%sgot\n%s", rendered.code, want, rendered.err)
		}
		if from := run(t, text, "validate", "-f", "-"); want != "" && !strings.Contains(from.err, " -f FILE ") {
			t.Errorf("standard input:\n%s", from.err)
		}
	}
}

// Each finding has a documented reason, a line, and a field path, which is "document" if the document is unreadable.
//
// Proves: NFR-004, FR-075, R74.
func TestEachFindingHasReasonLineAndPath(t *testing.T) {
	known := map[problem.Reason]bool{}
	for _, row := range problem.Rows() {
		known[row.Reason] = true
	}
	seen, files := map[problem.Reason]bool{}, slices.Concat(glob(t, "testdata/bad/*.yaml"), glob(t, "testdata/good/*.yaml"), glob(t, "testdata/examples.yaml"))
	if !testing.Short() {
		files = append(files, glob(t, "../../internal/serverconfig/testdata/*/cr.yaml")...)
	}
	for _, text := range odd() {
		files = append(files, write(t, text))
	}
	var got struct {
		Findings []struct {
			File, Severity, Path, Message string
			Code                          problem.Reason
			Line                          int
		}
	}
	if err := json.Unmarshal([]byte(run(t, "", append([]string{"validate", "-o", "json"}, files...)...).out), &got); err != nil {
		t.Fatal(err)
	}
	messages := map[string]bool{}
	for i, f := range got.Findings {
		seen[f.Code] = true
		messages[f.Severity+" "+strings.TrimSuffix(f.Message, withSettings)] = true
		if !slices.Contains(files, f.File) || f.Line < 1 || !known[f.Code] || f.Path == "" || !strings.HasPrefix(f.Message, f.Path) {
			t.Errorf("%+v", f)
		}
		if i > 0 && f.File == got.Findings[i-1].File && f.Line < got.Findings[i-1].Line {
			t.Errorf("%s: line %d after line %d", f.File, f.Line, got.Findings[i-1].Line)
		}
	}
	for _, row := range problem.Rows() {
		_, exempt := withoutAFile[row.Reason]
		if !testing.Short() && !row.FixedElsewhere && seen[row.Reason] == exempt {
			t.Errorf("reason %s: it is in withoutAFile: %v, and a file has it: %v", row.Reason, exempt, seen[row.Reason])
		}
		example := problem.New(row.Example)
		reported := messages[strings.ToLower(string(example.Severity))+" "+example.String()]
		if _, elsewhere := exampleFrom[row.Reason]; reported == elsewhere {
			t.Errorf("reason %s: it is in exampleFrom: %v, and a file has the example: %v\n%s", row.Reason, elsewhere, reported, example)
		}
	}
}

// withSettings is the hint that follows if the operator's settings could make a difference.
const withSettings = " (if your cluster has such an entry, pass that ConfigMap with --settings)"

// exampleFrom lists the reasons whose example in docs/status.md is not from a file, and its origin: a package whose
// TestExamplesAre… proves it, or the text of the code.
var exampleFrom = func() map[problem.Reason]string {
	from := map[problem.Reason]string{}
	for origin, reasons := range map[string][]problem.Reason{
		"internal/reconcile/build": {
			problem.SecretNotFound, problem.InvalidSecret, problem.ConfigMapNotFound, problem.InvalidConfigMap, problem.ForbiddenBySettings, problem.DependencyNotReady,
			problem.UnsupportedRelease, problem.MissingConfigLabels, problem.UnknownServerLine, problem.InvalidBaseConfig,
		},
		"internal/reconcile/gather": {
			problem.RegistryUnavailable, problem.ImageNotAccessible, problem.InvalidImage, problem.LookupFailed, problem.UnsupportedByOperator,
		},
		"internal/reconcile/apply":                 {problem.Conflict, problem.WaitingForRemoval, problem.ApplyFailed},
		"answers of the API server":                {problem.ObjectRejected},
		"internal/reconcile/gather, while it asks": {problem.ReadingImageLabels},
		"internal/reconcile/gather, from settings": {problem.InvalidOperatorSettings},
		"internal/problem, after a panic":          {problem.InternalError},
	} {
		for _, reason := range reasons {
			from[reason] = origin
		}
	}
	return from
}()

// withoutAFile lists the reasons that an edit of the custom resource fixes, but a file alone cannot cause.
var withoutAFile = map[problem.Reason]string{
	problem.ForbiddenBySettings: "the operator's settings forbid it",
	problem.Conflict:            "another object of the cluster has the name",
	problem.ObjectRejected:      "the API server rejects what is made of it",
}

// odd returns custom resources with problems that the other test data lacks.
func odd() []string {
	const v1alpha2 = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s, namespace: n}\nspec:\n  distribution: {name: starter}\n"
	return []string{
		v1alpha2 + "  networking: {expose: true}\n",
		v1alpha2 + "  workload: {replicas: 2, storage: {}}\n",
		v1alpha2 + "  resources: {models: [" + strings.Repeat("m,", limits.Models) + " m]}\n",
		strings.Replace(v1alpha2, "namespace: n", "namespace: n, annotations: {llamastack.io/conversion: 'no JSON'}", 1),
	}
}

// Schema, operator and policy report their findings in one run.
//
// Proves: NFR-004, FR-075, R74.
func TestValidateReportsAllLayersAtOnce(t *testing.T) {
	file := write(t, `apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: s}
spec:
  distribution: {name: starter}
  workloads: {replicas: 1}
  networking:
    port: 70000
  providers:
    inference:
      provider: vllm
      apikey: {name: a, key: b}
  resources:
    models:
    - {name: m, provider: vlm}
`)
	r := run(t, "", "validate", "-f", file)
	for _, want := range []string{
		":6: error: s: spec.workloads: unknown field: did you mean \"workload\"?",
		":8: error: s: spec.networking.port: ",
		":12: error: s: spec.providers.inference.apikey: ",
		":15: error: s: spec.resources.models[0].provider: ",
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%q is not in\n%s", want, r.out)
		}
	}
}

// An unknown distribution hides no other problem, and adds no problems that a known distribution would not have.
//
// Proves: R74.
func TestUnknownDistributionHidesNoOtherProblem(t *testing.T) {
	const known, unknown = "distribution: {name: starter}", "distribution: {name: nobody}"
	with, without := t.TempDir(), t.TempDir()
	tried := 0
	for _, file := range slices.Concat(glob(t, "../../internal/serverconfig/testdata/*/cr.yaml"), glob(t, "../../config/samples/v1alpha2-*.yaml")) {
		text := read(t, file)
		if !strings.Contains(text, known) {
			continue
		}
		tried++
		name := strings.ReplaceAll(file, "/", "_")
		for dir, text := range map[string]string{with: text, without: strings.Replace(text, known, unknown, 1)} {
			framework.WriteFile(t, filepath.Join(dir, name), text)
		}
	}
	all, shared := problemsBeside(t, with), problemsBeside(t, without)
	for message := range shared {
		if !all[message] {
			t.Errorf("only with an unknown distribution: %s", message)
		}
	}
	if tried < 50 || len(shared) < 20 {
		t.Errorf("%d files were tried, with %d problems in both", tried, len(shared))
	}
}

// problemsBeside returns the problems that do not concern the distribution, each with its file name.
func problemsBeside(t *testing.T, dir string) map[string]bool {
	t.Helper()
	var got struct {
		Findings []struct{ File, Path, Message string }
	}
	framework.NoError(t, json.Unmarshal([]byte(run(t, "", "validate", "-o", "json", dir).out), &got))
	found := map[string]bool{}
	for _, f := range got.Findings {
		if !strings.HasPrefix(f.Path, "spec.distribution") {
			found[filepath.Base(f.File)+": "+f.Message] = true
		}
	}
	return found
}

// Proves: R81 (each invalid entry of a settings file is reported).
func TestValidateChecksSettingsWithoutResources(t *testing.T) {
	if r := run(t, "", "validate", "--settings", "testdata/settings.yaml"); r.code != cli.ExitOK || r.out != "" {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.err)
	}
	const broken = "distributions: |\n  a: {imag: x}\n  b: [\n  c: {image: 'registry.example/c:0.7.1'}\nedge: 'kind: Ingres'\n"
	r := run(t, broken, "validate", "--settings", "-")
	if r.code != cli.ExitFailure || strings.Count(r.out, "-: error: ") != 3 || strings.Contains(r.out, "distributions[c]") {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.err)
	}
	for _, want := range []string{"distributions[a]: ", "distributions[b]: ", `kind: Unsupported value: "Ingres"`} {
		if !strings.Contains(r.out, want) {
			t.Errorf("%s; want %s", r.out, want)
		}
	}
	if r := run(t, "", "validate"); r.code != cli.ExitUsage || !strings.Contains(r.err, "--settings") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
}

// Proves: R81, R47 (settings and their registered distributions are checked, in either order).
func TestValidateChecksRegistrationsWithoutResources(t *testing.T) {
	sample := "../../config/samples/settings/"
	both := read(t, sample+"registered-distribution.yaml") + "---\n" + read(t, sample+"mirrors.yaml")
	for name, c := range map[string]struct {
		text, out string
		code      int
	}{
		"right": {both, "", cli.ExitOK},
		"broken registration": {
			strings.Replace(both, "    - inference\n", "    - [\n", 1),
			": error: ConfigMap distribution-rh-dev: config.yaml: base configuration rh-dev: not YAML: line ", cli.ExitFailure,
		},
		"only foreign":   {strings.Replace(strings.Replace(both, "  image: ", "  imag: ", 1), "  serverVersion: ", "  version: ", 1), "", cli.ExitOK},
		"unknown key":    {strings.Replace(both, "  image: ", "  imag: ", 1), `data[imag]: Unsupported value: did you mean "image"?`, cli.ExitFailure},
		"unreadable key": {both + "  distributions: '- ['\n", "error: ConfigMap llama-stack-operator-config, key distributions: not a YAML map", cli.ExitFailure},
		"no effect": {
			both + "  distributions: 'rh-dev: {image: x}'\n",
			": warning: llama-stack-operator-config/distributions[rh-dev]: has no effect, because ConfigMap distribution-rh-dev registers the name", cli.ExitOK,
		},
	} {
		r := run(t, "", "validate", "--settings", write(t, c.text))
		if r.code != c.code || !strings.Contains(r.out, c.out) || c.out == "" && r.out != "" || !strings.HasPrefix(r.err, "settings checked, ") {
			t.Errorf("%s: exit code %d, %q, %q", name, r.code, r.out, r.err)
		}
	}
}

// An unreadable file is counted, and its error has no line.
func TestValidateCountsUnreadableDocuments(t *testing.T) {
	r := run(t, "", "validate", "absent.yaml")
	if want := "absent.yaml: error: document: cannot be read: no such file or directory\n"; r.code != cli.ExitFailure || r.out != want {
		t.Errorf("exit code %d, %swant %s", r.code, r.out, want)
	}
	if want := "0 checked, 0 with errors or warnings, 0 of other kinds skipped, 1 unreadable\n"; r.err != want {
		t.Errorf("standard error is %swant %s", r.err, want)
	}
}

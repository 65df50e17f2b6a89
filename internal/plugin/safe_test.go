// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// evil has control sequences, characters that reorder text, and two workflow commands.
const evil = "evil\x1b[2J\x1b]52;c;aGk=\x07\u009b31m\u202e\r##[debug]\n::error::x\n"

// evilName is the part of evil that may be a file name or an argument.
const evilName = "evil\x1b[2J\u009b31m\u202e\r##[debug]\n::error::x"

// hostileCluster connects to a cluster whose objects, logs and server are controlled by an attacker.
func hostileCluster(t *testing.T) cluster.Connect {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1", Generation: 1}}
	if err := yaml.Unmarshal([]byte("distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}"), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	cr.Status.ServiceURL = "http://my-stack-service.ai.svc:8321" + evil
	cr.Status.DistributionConfig = &v1alpha2.DistributionConfig{MissingResources: []string{evil}, VectorStores: []v1alpha2.ResourceInfo{{Name: evil}}}
	cr.Status.Conditions = []metav1.Condition{
		{Type: v1alpha2.ConditionReady, Status: metav1.ConditionFalse, Reason: "X", Message: evil, ObservedGeneration: 1},
		{Type: v1alpha2.ConditionDeploymentUpdated, Status: metav1.ConditionFalse, Reason: "X", Message: evil, ObservedGeneration: 1},
	}
	own := names.Selector("my-stack")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-" + evilName, Labels: own}}
	pod.Spec.Containers = []corev1.Container{{Name: "llama-stack"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "llama-stack", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "X", Message: evil}},
	}}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", Labels: own}}
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "e"}, Type: corev1.EventTypeWarning, Reason: evil, Message: evil,
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: pod.Name},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		model := "m" + evil
		if r.Method == http.MethodPost {
			_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": evil}}}})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"id": model}}})
	}))
	t.Cleanup(server.Close)
	return func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{
			Client: fakecluster.New(t, cr, pod, deployment, event), Namespace: "ai",
			Logs: func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(evil)), nil
			},
			Forward: func(_ context.Context, _ *corev1.Pod, _, _ int32, ready func(int32) error) error {
				var port int32
				if _, err := fmt.Sscanf(server.URL, "http://127.0.0.1:%d", &port); err != nil {
					return err
				}
				return ready(port)
			},
		}, nil
	}
}

// hostileCommands returns, for each command, arguments that make it print foreign texts.
func hostileCommands(t *testing.T) map[string][][]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		framework.WriteFile(t, file, content)
		return file
	}
	text := strconv.QuoteToASCII(evil)
	const kind = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n"
	wrong := write(evilName+".yaml", kind+"metadata: {name: a}\nspec: {distribution: {name: starter}, nonsense: "+text+", disabled: ["+text+"]}\n")
	unreadable := write(evilName+"-2.yaml", "a: [\n")
	odd := write("odd.yaml", kind+"metadata: {name: "+text+", annotations: {a: "+text+"}}\nspec: {distribution: {name: starter}, "+
		"providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}, workload: {overrides: {env: [{name: A, value: "+text+"}]}}}\n")
	missing := filepath.Join(dir, evilName+"-3.yaml")
	old := write("old.yaml", "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: "+text+"}\nspec: {server: {distribution: {name: starter}, "+
		"containerSpec: {env: [{name: VLLM_URL, value: 'http://vllm:8000'}, {name: B, value: "+text+"}]}}}\n")
	return map[string][][]string{
		"render": {
			{"-f", wrong}, {"-f", unreadable}, {"-f", missing}, {"-f", odd}, {"-f", odd, "-o", "env"}, {"-f", odd, "-o", "access"}, {"-f", odd, "-o", "yaml"},
			{"-f", odd, "-o", "json"}, {"-f", odd, "--base", unreadable}, {"-f", odd, "--settings", missing},
		},
		"validate": {
			{"-f", wrong}, {"-f", unreadable}, {"-f", missing}, {"-f", odd}, {"-f", old}, {"-f", wrong, "-o", "github"}, {"-f", unreadable, "-o", "github"},
			{"-f", odd, "-o", "github"}, {"-f", old, "-o", "github"}, {"-f", wrong, "-o", "json"}, {"-f", unreadable, "-o", "yaml"}, {"--settings", unreadable},
		},
		"convert": {
			{"--to", "v1alpha1", "-f", wrong}, {"--to", "v1alpha1", "-f", unreadable}, {"--to", "v1alpha1", "-f", odd}, {"--to", "v1alpha2", "-f", old},
			{"--to", "v1alpha2", "-f", old, "-o", "json"}, {"--to", "ogx.io/v1beta1", "-f", odd}, {"--to", evilName, "-f", odd},
		},
		"migrate":       {{"-f", wrong}, {"-f", unreadable}, {"-f", odd}, {"-f", old}, {"-f", old, "-o", "json"}},
		"upgrade-check": {{"-f", wrong, "--to", "0.7"}, {"-f", unreadable, "--to", "0.7"}, {"-f", odd, "--to", "0.7"}, {"-f", odd, "--to", evilName}},
		"diff":          {{"-f", wrong}, {"-f", unreadable}, {"-f", odd}, {"-f", odd, "-o", "yaml"}},
		"explain":       {{evilName}, {"spec." + evilName}, {"remote::" + evilName}, {"resources." + evilName}},
		"status":        {{}, {"my-stack"}, {evilName}, {"my-stack", "-o", "yaml"}, {"my-stack", "-o", "json"}},
		"report":        {{"my-stack", "-f", filepath.Join(dir, evilName+".tar.gz")}, {evilName}, {"my-stack", "-o", "yaml", "-f", filepath.Join(dir, evilName)}},
		"logs":          {{"my-stack"}, {"my-stack", "-o", "json"}, {"my-stack", "-o", "yaml"}, {evilName}},
		"port-forward":  {{"my-stack"}, {"my-stack", "-o", "json"}, {evilName}},
		"chat":          {{"my-stack", "hello"}, {"my-stack", "hello", "-o", "json"}, {"my-stack", "hello", "-o", "yaml"}, {evilName, "hello"}},
		"label":         {{"registry.example/a:1", "--config", missing, "--push"}, {"oci-archive:" + missing, "--config", odd, "-o", missing}, {evilName, "--config", odd, "--push"}},
		"register": {
			{odd, "--image", "registry.example.com/a:1.5.0", "--name", evilName}, {"registry.example.com/a:1.5.0", "--config", odd, "--name", "a", "--mount-path", evilName},
			{odd, "--image", evilName, "--name", "a"},
		},
		"playground":        {{evilName}},
		"downgrade-prepare": {{"--kubeconfig", missing}},
		"version":           {{evilName}},
	}
}

// Proves: NFR-003 (no stream of any command contains control characters or workflow commands).
func TestVerbsEscapeUntrustedTerminalOutput(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	connect := hostileCluster(t)
	all := hostileCommands(t)
	for _, verb := range newRoot(cli.Streams{}, connect).Commands() {
		if len(all[verb.Name()]) == 0 {
			t.Errorf("%s: no hostile text is tested", verb.Name())
		}
		for _, args := range append(all[verb.Name()], []string{"--" + evilName}) {
			args = append([]string{verb.Name()}, args...)
			var out, errs bytes.Buffer
			streams := cli.Safe(cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			root := newRoot(streams, connect)
			root.SetArgs(args)
			err := root.ExecuteContext(t.Context())
			code := cli.Finish(err, streams, "")
			framework.NoError(t, cli.Flush(streams))
			checkSafe(t, args, code, out.String(), errs.String())
		}
	}
}

func checkSafe(t *testing.T, args []string, code int, out, errs string) {
	t.Helper()
	format := ""
	if i := slices.Index(args, "-o"); i > 0 && args[0] != "label" {
		format = args[i+1]
	}
	forPrograms := slices.Contains([]string{"json", "yaml"}, format) || slices.Contains([]string{"render", "convert", "migrate", "register"}, args[0])
	for name, text := range map[string]string{"standard output": out, "standard error": errs} {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		if i := strings.IndexFunc(text, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) && !forPrograms
		}); i >= 0 {
			t.Errorf("%q: %s has %q:\n%q", args, name, text[i:min(len(text), i+6)], text)
		}
		if name == "standard output" && forPrograms {
			continue
		}
		for line := range strings.Lines(text) {
			begin := strings.TrimSpace(line)
			allowed := name == "standard output" && format == "github" && (strings.HasPrefix(begin, "::error file=") || strings.HasPrefix(begin, "::warning file="))
			if !allowed && (strings.HasPrefix(begin, "::") || strings.Contains(begin, "##[")) {
				t.Errorf("%q: %s has a command of a workflow: %q", args, name, line)
			}
		}
	}
	if code == cli.ExitOK && out != "" && (format == "json" || format == "yaml") {
		var into any
		if err := yaml.Unmarshal([]byte(out), &into); err != nil {
			t.Errorf("%q: %v:\n%q", args, err, out)
		}
	}
	if all := out + errs; !strings.Contains(all, `\x1b[2J`) && !strings.Contains(all, `\u001b[2J`) && !strings.Contains(all, `\e[2J`) {
		t.Errorf("%q: exit code %d, and the hostile text is not shown:\n%s%s", args, code, out, errs)
	}
}

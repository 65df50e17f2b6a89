// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// fakeKubectl is a fake kubectl for a cluster. It prints the commands that would change the cluster, and fails.
const fakeKubectl = `#!/bin/sh
case "$*" in
"config current-context") echo "${CONTEXT?no context}" ;;
*" version") echo "Server Version: v1.36.3"; exit "${DOWN:-0}" ;;
*"auth can-i"*) echo "${ALLOWED:-yes}" ;;
*"get deployment"*) echo "$INSTALLED" ;;
*) echo "kubectl $*"; exit 1 ;;
esac
`

// The demo reports the cluster and the images before it changes anything, and stops if a requirement is missing.
//
// Proves: NFR-004.
func TestDemoHereChecksRequirementsFirst(t *testing.T) {
	for name, c := range map[string]struct {
		env  []string
		want []string
		last string // the end of the output
	}{
		"no context":             {nil, nil, "no current context: set KUBECONFIG"},
		"no image":               {[]string{"CONTEXT=kind-kind"}, []string{"context        kind-kind", "operator       example.com/operator:1"}, "MODEL_SERVER_IMG is not set"},
		"no model of one's own":  {[]string{"CONTEXT=k", "MODEL_URL=http://ollama:11434"}, nil, "MODEL is not set: name a model"},
		"a model of one's own":   {[]string{"CONTEXT=k", "MODEL_URL=http://ollama:11434", "MODEL=qwen3"}, []string{"model server   yours, http://ollama:11434", "kubectl --request-timeout=30s apply -f"}, "Install the operator"},
		"no cluster":             {[]string{"CONTEXT=k", "MODEL_SERVER_IMG=m", "DOWN=1"}, nil, "the cluster does not answer"},
		"no permission":          {[]string{"CONTEXT=k", "MODEL_SERVER_IMG=m", "ALLOWED=no"}, []string{"Kubernetes     v1.36.3"}, "you may not create CustomResourceDefinitions"},
		"another operator":       {[]string{"CONTEXT=k", "MODEL_SERVER_IMG=m", "INSTALLED=other"}, nil, "set REPLACE=yes to replace it by example.com/operator:1"},
		"all requirements met":   {[]string{"CONTEXT=k", "MODEL_SERVER_IMG=m"}, []string{"the built-in distribution starter", "kubectl --request-timeout=30s apply -f"}, "Install the operator"},
		"REPLACE and SERVER_IMG": {[]string{"CONTEXT=k", "MODEL_SERVER_IMG=m", "INSTALLED=other", "REPLACE=yes", "SERVER_IMG=s:1"}, []string{"server         s:1"}, "Install the operator"},
	} {
		t.Run(name, func(t *testing.T) {
			kubectl := filepath.Join(t.TempDir(), "kubectl")
			framework.NoError(t, os.WriteFile(kubectl, []byte(fakeKubectl), 0o700))
			cmd := exec.CommandContext(t.Context(), "./here.sh", "up")
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "KUBECTL=" + kubectl, "IMG=example.com/operator:1"}, c.env...)
			out, err := cmd.CombinedOutput()
			if err == nil {
				t.Fatalf("succeeded without a cluster:\n%s", out)
			}
			for _, want := range append(c.want, "==> Use the cluster of the current kubeconfig\n", c.last) {
				if !strings.Contains(string(out), want) {
					t.Errorf("output lacks %q:\n%s", want, out)
				}
			}
			if changes := strings.Contains(string(out), " apply -f"); changes != strings.HasPrefix(c.last, "Install") {
				t.Errorf("it changes something: %t:\n%s", changes, out)
			}
		})
	}
}

// The sample for a model server of the user's own is valid, and has its address, provider and model, and no key.
func TestDemoHereUsesAModelServerOfOnesOwn(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `
eval "$(sed -n '/^own_sample()/,/^}/p' hack/demo/here.sh)"
distribution() { echo starter; }
own_sample`)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "MODEL_URL=http://ollama.models.svc:11434/v1", "MODEL=qwen3:4b", "model_provider=ollama")
	sample, err := cmd.Output()
	framework.NoError(t, err)
	file := filepath.Join(t.TempDir(), "own.yaml")
	framework.NoError(t, os.WriteFile(file, sample, 0o600))
	var out, problems bytes.Buffer
	if code := plugin.Run(t.Context(), []string{"validate", "-f", file}, cli.Streams{Out: &out, Err: &problems}); code != cli.ExitOK || !strings.Contains(problems.String(), " 0 with errors or warnings") {
		t.Errorf("exit code %d:\n%s%s", code, &out, &problems)
	}
	for _, want := range []string{"provider: ollama\n", "endpoint: \"http://ollama.models.svc:11434/v1\"\n", "- \"qwen3:4b\"\n"} {
		if !strings.Contains(string(sample), want) || strings.Contains(string(sample), "apiKey") {
			t.Errorf("%s\nwant %s", sample, want)
		}
	}
}

// Bash opens the output of the port-forward only after expanding its command line, which takes half a second here.
func TestDemoHereWaitsForSlowPortForward(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `
eval "$(sed -n '/^forward_port()/,/^}/p' here.sh)"
fail() { echo "$*"; exit 1; }
namespace=n stack=s
programs=("$scratch/kubectl")
declare -n kubectl='programs[$(sleep 0.5; echo 0)]'
forward_port
kill "$forward"
echo "$url"`)
	scratch := t.TempDir()
	cmd.Env = append(os.Environ(), "scratch="+scratch)
	kubectl := "#!/bin/sh\necho 'Forwarding from 127.0.0.1:12345 -> 8321'\nexec sleep 60 >/dev/null 2>&1\n"
	framework.NoError(t, os.WriteFile(filepath.Join(scratch, "kubectl"), []byte(kubectl), 0o700))
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "http://127.0.0.1:12345/v1/chat/completions\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

// If the user stops the demo, it prints how to continue, without diagnostics.
func TestDemoDistinguishesStopFromFailure(t *testing.T) {
	for status, want := range map[string]string{"130": `The demo was stopped in the step "Wait".`, "1": `The demo failed in the step "Wait".`} {
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `. ./lib.sh; down_target=down; kubectl=echo; step_title=Wait; report_failure `+status)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "To end it: make down") {
			t.Errorf("status %s: %v\n%s", status, err, out)
		}
		if explains := strings.Contains(string(out), "operator log"); explains != (status == "1") {
			t.Errorf("status %s explains a failure: %t\n%s", status, explains, out)
		}
	}
}

// The manifest that the demo offers at its end is valid.
func TestOwnStackIsValid(t *testing.T) {
	var out, problems bytes.Buffer
	if code := plugin.Run(t.Context(), []string{"validate", "-f", "own-stack.yaml"}, cli.Streams{Out: &out, Err: &problems}); code != cli.ExitOK {
		t.Errorf("exit code %d:\n%s%s", code, &out, &problems)
	}
}

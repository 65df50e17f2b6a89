// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

func pod(name string, age int, ready corev1.ConditionStatus) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ai", Name: name, Labels: names.Selector("my-stack"), CreationTimestamp: metav1.NewTime(time.Unix(int64(1000-age), 0)),
	}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	return p
}

func evicted(p *corev1.Pod) *corev1.Pod {
	p.Status.Phase = corev1.PodFailed
	return p
}

// run runs the command; each log contains the pod and the requested options.
func run(t *testing.T, pods []client.Object, args ...string) (text string, code int) {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}
	c := fakecluster.New(t, append(pods, cr)...)
	var out bytes.Buffer
	streams := cli.Streams{Out: &out, Err: &out}
	cmd := New(streams, func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{Client: c, Namespace: "ai", Logs: func(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			tail := int64(-1)
			if o.TailLines != nil {
				tail = *o.TailLines
			}
			return io.NopCloser(strings.NewReader(fmt.Sprintf("log of %s, follow %v, previous %v, tail %d\n", pod, o.Follow, o.Previous, tail))), nil
		}}, nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	code = cli.Finish(cmd.ExecuteContext(t.Context()), streams, "")
	return out.String(), code
}

func TestLogsSelectsFailingPod(t *testing.T) {
	for want, test := range map[string]struct {
		pods []client.Object
		args []string
	}{
		"log of newest, follow false, previous false, tail -1": {[]client.Object{pod("old", 9, corev1.ConditionTrue), pod("newest", 1, corev1.ConditionTrue)}, nil},
		"log of broken, follow true, previous true, tail 5": {
			[]client.Object{pod("broken", 5, corev1.ConditionFalse), pod("newest", 1, corev1.ConditionTrue), pod("older", 7, corev1.ConditionFalse)}, []string{"--follow", "--previous", "--tail", "5"},
		},
		"log of starting, follow false, previous false, tail -1": {
			[]client.Object{pod("starting", 5, corev1.ConditionFalse), evicted(pod("evicted", 1, corev1.ConditionFalse))}, nil,
		},
		"log of serving, follow false, previous false, tail -1": {
			[]client.Object{pod("serving", 5, corev1.ConditionTrue), evicted(pod("evicted", 1, corev1.ConditionFalse))}, nil,
		},
		"log of evicted, follow false, previous false, tail -1": {[]client.Object{evicted(pod("evicted", 1, corev1.ConditionFalse))}, nil},
	} {
		text, code := run(t, test.pods, append([]string{"my-stack"}, test.args...)...)
		if code != cli.ExitOK || !strings.HasSuffix(text, want+"\n") || !strings.Contains(text, "container llama-stack\n") {
			t.Errorf("exit code %d: %s\nwant %s", code, text, want)
		}
	}
}

// Standard output is a single object, and standard error is empty.
func TestLogsForPrograms(t *testing.T) {
	serving := []client.Object{pod("serving", 5, corev1.ConditionTrue)}
	text, code := run(t, serving, "my-stack", "--tail", "3", "-o", "json")
	got, want := log{}, log{Namespace: "ai", Pod: "serving", Container: "llama-stack", Lines: []string{"log of serving, follow false, previous false, tail 3"}}
	if err := json.Unmarshal([]byte(text), &got); err != nil || code != cli.ExitOK || !reflect.DeepEqual(got, want) {
		t.Errorf("exit code %d, %v: %s", code, err, text)
	}
	for want, args := range map[string][]string{
		"--follow and --output are mutually exclusive": {"--follow", "-o", "json"}, `--output "toml": choose one of json, yaml`: {"-o", "toml"},
	} {
		if text, code := run(t, serving, append([]string{"my-stack"}, args...)...); code != cli.ExitUsage || !strings.Contains(text, want) {
			t.Errorf("exit code %d: %s", code, text)
		}
	}
}

func TestLogsWithoutPodsIsAnError(t *testing.T) {
	if text, code := run(t, nil, "my-stack"); code != cli.ExitFailure || !strings.Contains(text, "the server has no pods") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := run(t, nil, "nobody"); code != cli.ExitFailure || !strings.Contains(text, `"nobody"`) {
		t.Errorf("exit code %d: %s", code, text)
	}
}

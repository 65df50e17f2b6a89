// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"bytes"
	"context"
	"errors"
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

var errLost = errors.New("lost connection to pod")

func readyPod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name, Labels: names.Selector("my-stack")}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// connection is what Forward does for one connection to a pod.
type connection func(ctx context.Context, c client.Client, pod string, listens func() error) error

// forward runs the command with a Forward for each connection, one after the other; the cluster has the pod old.
func forward(t *testing.T, retry retry, connections ...connection) (out, stderr string, err error) {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}
	world := fakecluster.New(t, cr, readyPod("old"))
	made := 0
	c := &cluster.Connection{Client: world, Namespace: "ai", Forward: func(ctx context.Context, pod *corev1.Pod, local, _ int32, listens func(int32) error) error {
		made++
		if local != 9000 || made > len(connections) {
			t.Fatalf("connection %d on port %d", made, local)
		}
		return connections[made-1](ctx, world, pod.Name, func() error { return listens(local) })
	}}
	var text, problems bytes.Buffer
	o := &options{local: 9000, retry: retry}
	err = o.run(t.Context(), c, "my-stack", cli.Streams{Out: &text, Err: &problems})
	return text.String(), problems.String(), err
}

func remove(ctx context.Context, c client.Client, pod string) error {
	p := readyPod(pod)
	if err := c.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
		return err
	}
	return c.Delete(ctx, p, client.Preconditions{UID: &p.UID})
}

// A rollout replaces the pod, and the first attempt after it fails.
func TestPortForwardConnectsToTheNextPod(t *testing.T) {
	out, stderr, err := forward(
		t, retry{interval: time.Millisecond, timeout: time.Minute},
		func(ctx context.Context, c client.Client, pod string, listens func() error) error {
			return errors.Join(listens(), remove(ctx, c, pod), c.Create(ctx, readyPod("next")), errLost)
		},
		func(context.Context, client.Client, string, func() error) error {
			return errors.New("error upgrading connection")
		},
		func(_ context.Context, _ client.Client, pod string, listens func() error) error {
			if pod != "next" {
				t.Errorf("forwards to pod %s", pod)
			}
			return listens()
		},
	)
	if err != nil || strings.Count(out, "http://127.0.0.1:9000 forwards to pod old") != 1 || strings.Contains(out, "next") {
		t.Errorf("%v: %s", err, out)
	}
	if want := "the connection to pod old is lost: connecting to a ready pod\nforwards to pod next\n"; stderr != want {
		t.Errorf("%s\nwant %s", stderr, want)
	}
}

func TestPortForwardGivesUpAfterAWhile(t *testing.T) {
	_, _, err := forward(t, retry{interval: time.Millisecond, timeout: 20 * time.Millisecond}, func(ctx context.Context, c client.Client, pod string, listens func() error) error {
		return errors.Join(listens(), remove(ctx, c, pod), errLost)
	})
	if err == nil || !strings.Contains(err.Error(), "no pod of my-stack is ready") || !strings.Contains(err.Error(), "gave up after 20ms") {
		t.Error(err)
	}
}

// The command does not retry if its port is in use.
func TestPortForwardDoesNotRetryTheFirstConnection(t *testing.T) {
	inUse := errors.New("unable to listen on any of the requested ports")
	_, _, err := forward(t, retry{interval: time.Millisecond, timeout: time.Minute}, func(context.Context, client.Client, string, func() error) error { return inUse })
	if !errors.Is(err, inUse) {
		t.Error(err)
	}
}

// The connection to a pod that is gone stays open until something is sent.
func TestPortForwardLeavesAPodThatIsGone(t *testing.T) {
	_, stderr, err := forward(
		t, retry{interval: time.Millisecond, timeout: time.Minute},
		func(ctx context.Context, c client.Client, pod string, listens func() error) error {
			if err := errors.Join(listens(), remove(ctx, c, pod), c.Create(ctx, readyPod("next"))); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		},
		func(_ context.Context, _ client.Client, _ string, listens func() error) error { return listens() },
	)
	if want := "forwards to pod next\n"; err != nil || !strings.HasSuffix(stderr, want) {
		t.Errorf("%v: %s\nwant %s", err, stderr, want)
	}
}

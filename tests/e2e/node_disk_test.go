// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// restartKubelet ends the kubelet where it runs, and starts it with a file of configuration in the node's directory.
func restartKubelet(ctx context.Context, command []string, file string) error {
	running, err := searchNodeProcess("kubelet")
	if err == nil {
		err = running.kill(ctx)
	}
	if err != nil && !errors.Is(err, errNotOnNode) {
		return err
	}
	command = slices.Clone(command)
	for i, word := range command {
		if own, ok := strings.CutPrefix(word, "--config="); ok {
			command[i] = "--config=" + filepath.Join(filepath.Dir(own), file)
		}
	}
	return startOnNode("kubelet", command)
}

const (
	kubeletConfig        = "kubelet.json"
	changedKubeletConfig = "kubelet-changed.json"
)

// changeKubeletConfig writes another configuration beside the kubelet's own.
func changeKubeletConfig(t *testing.T, key string, value any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cluster.Dir, kubeletConfig))
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	config[key] = value
	if err := os.WriteFile(filepath.Join(cluster.Dir, changedKubeletConfig), []byte(asJSON(t, config)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hasDiskPressure fails while the node does not report what is wanted.
func hasDiskPressure(t *testing.T, want corev1.ConditionStatus) func() error {
	return func() error {
		var nodes corev1.NodeList
		if err := kube.List(t.Context(), &nodes); err != nil {
			return err
		}
		for _, c := range nodes.Items[0].Status.Conditions {
			if c.Type == corev1.NodeDiskPressure && c.Status == want {
				return nil
			}
		}
		return fmt.Errorf("%+v", nodes.Items[0].Status.Conditions)
	}
}

// Proves: L-30, R18 (the server fills the disk of the node: the kubelet evicts it first, and then all others, the operator's pods too, and takes no new ones.
// The status names the cause, and everything is ready again when there is space and the image of the pods' sandboxes, which this node cannot pull).
func diskIsFull(t *testing.T) {
	s := sampleStack(t)
	// The kubelet removes the images that nobody uses, and this node could not pull them again.
	if err := runOnNode(t.Context(), "sh", "-c", `ctr -n k8s.io images ls -q | xargs -I{} ctr -n k8s.io images label {} io.cri-containerd.pinned=pinned`); err != nil {
		t.Fatal(err)
	}
	s.kubectl(t, "exec", s.pod(t).Name, "--", "sh", "-c", "dd if=/dev/zero of=/tmp/large bs=1M count=256 status=none")
	former := operatorContainers(t)
	// More than any disk with the images of a node has: what others free meanwhile does not matter. The kubelet ignores 100%.
	changeKubeletConfig(t, "evictionHard", map[string]string{"nodefs.available": "99.9%"})
	kubelet := findNodeProcess(t, "kubelet").command
	restore := undoing(t, func(ctx context.Context) error {
		// The kubelet has removed the image of the pods' sandboxes, and this node cannot pull it again.
		imported := runOnNode(ctx, "ctr", "-n", "k8s.io", "images", "import", "pause.tar")
		return errors.Join(imported, restartKubelet(ctx, kubelet, kubeletConfig))
	})
	if err := restartKubelet(t.Context(), kubelet, changedKubeletConfig); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	fixture.Eventually(t, recovery, "the node reports that its disk is full", hasDiskPressure(t, corev1.ConditionTrue))
	cause := ""
	fixture.Eventually(t, recovery, "the status names the cause", func() error {
		c := meta.FindStatusCondition(s.get(t).Status.Conditions, v1alpha2.ConditionAvailable)
		if c == nil || !strings.Contains(c.Message, "disk-pressure") && !strings.Contains(c.Message, "Evicted") {
			return errors.New(conditions(s.get(t)))
		}
		cause = c.Message
		return nil
	})
	did(t, "the disk of the node is full; Available: %s", cause)
	fixture.Eventually(t, recovery, "the operator is evicted too", func() error {
		var d appsv1.Deployment
		if err := kube.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &d); err != nil {
			return err
		}
		if d.Status.ReadyReplicas > 0 {
			return fmt.Errorf("%d replicas are ready", d.Status.ReadyReplicas)
		}
		return nil
	})
	did(t, "all pods are evicted after %s, the operator's last", time.Since(began).Round(time.Second))

	restore()
	if t.Failed() {
		t.FailNow()
	}
	room := time.Now()
	fixture.Eventually(t, recovery, "there is room", hasDiskPressure(t, corev1.ConditionFalse))
	fixture.Eventually(t, recovery, "the server is ready again", func() error {
		cr, leader := s.get(t), operatorPod(t)
		if !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady) || leader == nil || strings.Contains(former, leader.Name) {
			return errors.New(conditions(cr))
		}
		return nil
	})
	took := time.Since(room)
	for _, in := range []string{s.namespace, operatorNamespace} { // Kubernetes keeps them; other parts count pods
		if err := kube.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(in), client.MatchingFields{"status.phase": "Failed"}); err != nil {
			t.Error(err)
		}
	}
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "there is room again: with the image of the sandboxes, which the test loaded, the operator and the server are ready after %s", took.Round(time.Second))
}

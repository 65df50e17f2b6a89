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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/pods"
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

const (
	// leftSpace is what others may take of the disk before the kubelet calls it full.
	leftSpace = 2 << 30
	// takenSpace fills it, whatever others and the kubelet free meanwhile.
	takenSpace = 8 << 30
)

// spaceOf is how many bytes the file system of a directory has for others than root.
func spaceOf(t *testing.T, dir string) int64 {
	t.Helper()
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		t.Fatal(err)
	}
	return int64(fs.Bavail) * fs.Bsize
}

// allocate makes a file that takes so many bytes of the disk.
func allocate(t *testing.T, name string, size int64) {
	t.Helper()
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Fallocate(int(file.Fd()), 0, 0, size), file.Close()); err != nil {
		t.Fatalf("%s needs %d GiB: %v", name, size>>30, err)
	}
}

// nodeHas fails while the node does not report a condition that is as wanted.
func nodeHas(t *testing.T, wanted func(*corev1.NodeCondition) bool) func() error {
	return func() error {
		var nodes corev1.NodeList
		if err := kube.List(t.Context(), &nodes); err != nil {
			return err
		}
		reported := nodes.Items[0].Status.Conditions
		for i := range reported {
			if wanted(&reported[i]) {
				return nil
			}
		}
		return fmt.Errorf("%+v", reported)
	}
}

// hasDiskPressure fails while the node does not report what is wanted.
func hasDiskPressure(t *testing.T, want corev1.ConditionStatus) func() error {
	return nodeHas(t, func(c *corev1.NodeCondition) bool { return c.Type == corev1.NodeDiskPressure && c.Status == want })
}

// Proves: L-30, R18 (the disk of the node is full: the kubelet evicts the server, and takes no new pod. The operator stays where its pods are critical, and
// the status names the cause. Without that, its pods are evicted too. Everything is ready again when there is space and the image of the pods' sandboxes,
// which this node cannot pull).
func diskIsFull(t *testing.T) {
	s := sampleStack(t)
	// The kubelet removes the images that nobody uses, and this node could not pull them again.
	if err := runOnNode(t.Context(), "sh", "-c", `ctr -n k8s.io images ls -q | xargs -I{} ctr -n k8s.io images label {} io.cri-containerd.pinned=pinned`); err != nil {
		t.Fatal(err)
	}
	done := t.Run("the operator's pods are critical", func(t *testing.T) {
		back := undoing(t, func(ctx context.Context) error { return setOperatorPriority(ctx, "null") })
		if err := setOperatorPriority(t.Context(), `"system-cluster-critical"`); err != nil {
			t.Fatal(err)
		}
		before := operatorContainers(t)
		restore := fillDisk(t, s)
		cause := ""
		fixture.Eventually(t, recovery, "the status names the cause", func() error {
			c := meta.FindStatusCondition(s.get(t).Status.Conditions, v1alpha2.ConditionAvailable)
			if c == nil || !strings.Contains(c.Message, "low on resource: ephemeral-storage") {
				return errors.New(conditions(s.get(t)))
			}
			cause = c.Message
			return nil
		})
		if after := operatorContainers(t); after != before {
			t.Errorf("the operator's containers were %s, and are %s", before, after)
		}
		did(t, "the disk of the node is full, and the operator's pods are critical; Available: %s", cause)
		restore()
		s.hasRoom(t, "")
		back()
	})
	if !done {
		return // the node is not as it was
	}
	t.Run("they are not", func(t *testing.T) {
		former := operatorContainers(t)
		restore := fillDisk(t, s)
		began := time.Now()
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
		did(t, "all pods are evicted after %s, the operator's too", time.Since(began).Round(time.Second))
		restore()
		s.hasRoom(t, former)
	})
}

// setOperatorPriority sets the class, which is in JSON, of the operator's pods, and waits until there are only new ones.
func setOperatorPriority(ctx context.Context, class string) error {
	_, err := cluster.KubectlRun(ctx, "-n", operatorNamespace, "patch", "deployment", operatorName,
		"-p", `{"spec":{"template":{"spec":{"priorityClassName":`+class+`}}}}`)
	if err != nil {
		return err
	}
	if err := operatorRollsOut(ctx); err != nil {
		return err
	}
	return fixture.Poll(ctx, recovery, func() error {
		var list corev1.PodList
		if err := kube.List(ctx, &list, client.InNamespace(operatorNamespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp != nil {
				return fmt.Errorf("%s is ending", list.Items[i].Name)
			}
		}
		return nil
	})
}

// fillDisk lets the server write much, and then fills the disk of the node until restore removes that.
func fillDisk(t *testing.T, s stack) (restore func()) {
	t.Helper()
	s.kubectl(t, "exec", s.pod(t).Name, "--", "sh", "-c", "dd if=/dev/zero of=/tmp/large bs=1M count=256 status=none")
	full := filepath.Join(cluster.Dir, "full")
	changeKubeletConfig(t, "evictionHard", map[string]string{"nodefs.available": strconv.FormatInt(spaceOf(t, cluster.Dir)-leftSpace, 10)})
	kubelet := findNodeProcess(t, "kubelet").command
	restore = undoing(t, func(ctx context.Context) error {
		removed := os.Remove(full)
		if errors.Is(removed, os.ErrNotExist) {
			removed = nil
		}
		// The kubelet has removed the image of the pods' sandboxes, and this node cannot pull it again.
		imported := runOnNode(ctx, "ctr", "-n", "k8s.io", "images", "import", "pause.tar")
		return errors.Join(removed, imported, restartKubelet(ctx, kubelet, kubeletConfig))
	})
	restarted := time.Now().Truncate(time.Second)
	if err := restartKubelet(t.Context(), kubelet, changedKubeletConfig); err != nil {
		t.Fatal(err)
	}
	// A kubelet that starts on a full disk refuses all pods at once, and nobody is left to tell.
	fixture.Eventually(t, recovery, "the kubelet has taken its pods over", nodeHas(t, func(c *corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && !c.LastHeartbeatTime.Time.Before(restarted)
	}))
	allocate(t, full, takenSpace)
	fixture.Eventually(t, recovery, "the node reports that its disk is full", hasDiskPressure(t, corev1.ConditionTrue))
	return restore
}

// hasRoom waits until the server and the operator are ready again, the operator in other pods than former, and chats.
func (s stack) hasRoom(t *testing.T, former string) {
	t.Helper()
	if t.Failed() {
		t.FailNow()
	}
	room := time.Now()
	fixture.Eventually(t, recovery, "there is room", hasDiskPressure(t, corev1.ConditionFalse))
	fixture.Eventually(t, recovery, "the server is ready again", func() error {
		for _, in := range []string{s.namespace, operatorNamespace} { // Kubernetes keeps evicted pods; other parts count pods
			for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
				if err := kube.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(in), client.MatchingFields{"status.phase": string(phase)}); err != nil {
					return err
				}
			}
		}
		cr, of, leader := s.get(t), s.pods(t), operatorPod(t)
		// The status of an operator that is not there is that of before: the pod decides.
		if len(of) != 1 || !pods.IsReady(&of[0]) || !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady) || leader == nil || strings.Contains(former, leader.Name) {
			return fmt.Errorf("%d pods, %s", len(of), conditions(cr))
		}
		return nil
	})
	took := time.Since(room)
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "there is room again: with the image of the sandboxes, which the test loaded, the operator and the server are ready after %s", took.Round(time.Second))
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// maxPeak bounds the operator's memory, whose limit is 256 MiB.
	maxPeak = 200 << 20
	// maxLog bounds the operator's log.
	maxLog = 16 << 20
	// namespace has the inputs, bystanders the resources of other users, and guarded the policy for operators without
	// webhooks.
	namespace  = "hostile"
	bystanders = "bystanders"
	guarded    = "guarded"
	// busy is the resource that another user edits all the time.
	busy = "busy"
)

type input struct {
	name string
	send func(*testing.T, *world) (string, error)
	// want are the texts that the result must contain, in the form of mentions.
	want []string
}

// Proves: R7, R63, R64, R65, R71, R74 (for all inputs, the operator does not restart, stays within its memory limit,
// reports clear errors, and continues to reconcile other users' resources).
func TestOperatorSurvivesHostileInput(t *testing.T) {
	w := newWorld(t)
	w.namespace(t, namespace)
	w.namespace(t, bystanders)
	w.namespace(t, guarded)
	w.in(t, metav1.NamespaceDefault).Apply(depthPolicy(t, guarded))
	stored := w.storeWithoutWebhooks(t)
	w.operator = newOperator(t, w.in(t, framework.OperatorNamespace), "--zap-log-level=127", "--operator-image=quay.io/a/operator:1")
	w.useSecrets(t)
	w.startEdits(t)
	t.Run("stored before", func(t *testing.T) { w.run(t, stored) })
	for _, part := range []struct {
		name   string
		inputs []input
	}{
		{"nesting", nestingInputs()},
		{"depth", depthInputs()},
		{"count", countInputs()},
		{"v1alpha1", spokeInputs()},
		{"ConfigMaps", configMapInputs()},
		{"foreign objects", foreignInputs()},
		{"port", portInputs()},
		{"names", nameInputs()},
		{"text", textInputs()},
		{"endpoints", endpointInputs()},
		{"registrations", registrationInputs()},
		{"packages", packageInputs()},
		{"references", referenceInputs()},
	} {
		t.Run(part.name, func(t *testing.T) { w.run(t, part.inputs) })
	}
	w.checkOperator(t)
	talkative := w.operator
	talkative.Kill()
	w.operator = newOperator(t, w.in(t, framework.OperatorNamespace)) // started as it is installed
	t.Run("latency", func(t *testing.T) { w.run(t, latencyInputs()) })
	w.report.print(t)
	w.checkOperator(t)
	w.check(t, w.operator.Log, talkative.Log)
}

// depthPolicy returns the administrators' policy of the overlay without webhooks, for the custom resources of one
// namespace.
func depthPolicy(t *testing.T, namespace string) (text string) {
	t.Helper()
	for _, name := range []string{"policy.yaml", "binding.yaml"} {
		file := framework.ReadFile(t, filepath.Join(framework.Root(), "config", "overlays", "namespaced", "admin", "depth", name))
		text += "\n---\n" + strings.ReplaceAll(string(file), "ame: depth\n", "ame: depth-"+namespace+"\n")
	}
	return text + "  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: " + namespace + "}}}\n"
}

func (w *world) checkOperator(t *testing.T) {
	t.Helper()
	framework.Eventually(t, time.Minute, "the operator is ready in the end", w.operator.Ready)
	if w.operator.starts > 1 {
		t.Errorf("the operator ended %d times", w.operator.starts-1)
	}
	if kills := w.operator.group.kills(t); kills > 0 {
		t.Errorf("the kernel ended it %d times", kills)
	}
	w.notePeak(t)
	t.Logf("the control group, page cache included, used at most %d MiB", w.operator.group.peak(t)>>20)
	info, err := os.Stat(w.operator.Log)
	framework.NoError(t, err)
	t.Logf("the operator printed %d KiB", info.Size()>>10)
	if info.Size() > maxLog {
		t.Errorf("the log of the operator has %d bytes, want at most %d", info.Size(), maxLog)
	}
}

func (w *world) check(t *testing.T, logs ...string) {
	t.Helper()
	t.Logf("between the inputs, it used at most %d MiB", w.peak>>20)
	if peak := w.report.peak(); peak > maxPeak {
		t.Errorf("it used %d MiB, want at most %d", peak>>20, maxPeak>>20)
	}
	w.checkSecrets(t, logs)
	checkRoles(t)
}

// notePeak records the operator's peak memory since the last input, which includes its start and the reconciles after a
// result.
func (w *world) notePeak(t *testing.T) {
	t.Helper()
	used, err := w.operator.usage()
	framework.NoError(t, err)
	w.peak = max(w.peak, used.peak)
}

// checkRoles checks that the operator's roles allow all of its requests to the API server.
//
// Proves: L-19.
func checkRoles(t *testing.T) {
	t.Helper()
	roles, err := framework.ReadRoles()
	framework.NoError(t, err)
	requests, err := cluster.Requests()
	framework.NoError(t, err)
	roles.Note(requests)
	if err := roles.Missing(); err != nil {
		t.Error(err)
	}
}

// run sends the inputs one after the other.
func (w *world) run(t *testing.T, inputs []input) {
	for _, in := range inputs {
		t.Run(in.name, func(t *testing.T) { w.one(t, in) })
	}
}

func (w *world) one(t *testing.T, in input) {
	if w.operator.alive() != nil {
		w.operator.start() // if an input ends the operator, the next ones are still tested
	}
	w.notePeak(t)
	w.operator.resetPeak()
	before, err := w.operator.usage()
	framework.NoError(t, err)
	began := time.Now()
	answer, err := in.send(t, w)
	took := time.Since(began)
	after, usageErr := w.operator.usage()
	if err := errors.Join(err, usageErr); err != nil {
		answer += " NO ANSWER: " + err.Error()
		t.Error(err)
	}
	w.report.add(row{input: t.Name()[strings.IndexByte(t.Name(), '/')+1:], answer: answer, took: took, cpu: after.cpu - before.cpu, peak: after.peak})
	if len(in.want) == 0 {
		t.Error("the expected answer is not set")
	}
	for _, found := range w.canaries.Find(answer) {
		t.Errorf("the answer contains %s", found)
	}
	if !mentions(answer, in.want) {
		t.Errorf("the answer does not mention %q: %.2000s", in.want, answer)
	}
	if len(answer) > maxAnswer {
		t.Errorf("the answer has %d bytes, want at most %d: %.2000s", len(answer), maxAnswer, answer)
	}
}

// mentions reports whether an answer contains all texts; "a|b" means one of both.
func mentions(answer string, want []string) bool {
	for _, text := range want {
		if !slices.ContainsFunc(strings.Split(text, "|"), func(one string) bool { return strings.Contains(answer, one) }) {
			return false
		}
	}
	return true
}

// anotherPod returns an edit that replaces a resource's pods. It alternates between two values, because while no pod
// becomes ready, each new template would leave a ReplicaSet for kube-controller-manager to compare.
func anotherPod(number int) (patch []byte, value string) {
	value = strconv.Itoa(number % 2)
	return fmt.Appendf(nil, `{"spec":{"workload":{"overrides":{"env":[{"name":"EDIT","value":%q}]}}}}`, value), value
}

// startEdits edits a resource all the time, and reports how long edits take. Each must be applied within answerWithin.
func (w *world) startEdits(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.edit(ctx, busy) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && w.operator.alive() == nil {
			t.Errorf("edits of another resource: %v", err)
		}
	})
}

func (w *world) edit(ctx context.Context, name string) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for number := 0; ; number++ {
		began := time.Now()
		patch, _ := anotherPod(number)
		code, answer, err := w.ask(ctx, http.MethodPatch, resourcePath("v1alpha2", bystanders, name), patch)
		if err == nil && code != http.StatusOK {
			err = errors.New(denial(code, answer))
		}
		if err == nil {
			err = framework.Poll(ctx, answerWithin, func() error {
				o, err := w.observe(ctx, bystanders, name)
				if err == nil && o.status.ObservedGeneration < o.generation {
					err = fmt.Errorf("generation %d of %d is observed", o.status.ObservedGeneration, o.generation)
				}
				return err
			})
		}
		if ctx.Err() != nil {
			return nil // the test has ended
		}
		if err != nil {
			return err
		}
		w.report.edited(time.Since(began))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

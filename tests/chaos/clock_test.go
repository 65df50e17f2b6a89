// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/internal/certificate"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	year = 365 * 24 * time.Hour
	// offsetVariable names the file with the seconds by which the operator's clock is wrong.
	offsetVariable = "LLSD_CHAOS_CLOCK"
)

// Go reads the wall clock without the C library, and a time namespace has the clock of the machine. So the operator is built with a Go whose
// time.Now adds an offset, and a file more, which reads it. The monotonic clock does not jump: it never does.
const (
	readsClock = "sec, nsec, mono := runtimeNow()\n"
	movesClock = readsClock + "\tsec += ChaosOffset.Load()\n"

	offsetInTime = `package time

import "sync/atomic"

var ChaosOffset atomic.Int64
`
	offsetInManager = `package main

import (
	"os"
	"strconv"
	"time"
)

func init() {
	file := os.Getenv("` + offsetVariable + `")
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			text, _ := os.ReadFile(file)
			seconds, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil || seconds == time.ChaosOffset.Load() {
				continue
			}
			time.ChaosOffset.Store(seconds)
			_ = os.WriteFile(file+"."+os.Getenv("POD_NAME"), text, 0o600)
		}
	}()
}
`
)

// buildWithClock builds the operator with a clock that can be moved.
func buildWithClock(t *testing.T) string {
	t.Helper()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = fixture.Root(), append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	dir, std := t.TempDir(), filepath.Join(run("env", "GOROOT"), "src", "time")
	source, err := os.ReadFile(filepath.Join(std, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), readsClock); n != 1 {
		t.Fatalf("this Go reads its clock in %d places that look like %q: change the test", n, readsClock)
	}
	replace := map[string]string{}
	for path, text := range map[string]string{
		filepath.Join(std, "time.go"):                                      strings.Replace(string(source), readsClock, movesClock, 1),
		filepath.Join(std, "chaos_offset.go"):                              offsetInTime,
		filepath.Join(fixture.Root(), "cmd", "manager", "chaos_offset.go"): offsetInManager,
	} {
		file := filepath.Join(dir, strconv.Itoa(len(replace))+".go")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[path] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "manager")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	run("build", "-overlay", file, "-o", binary, "./cmd/manager")
	return binary
}

// movable is the clock of all replicas of an operator.
type movable struct {
	*operator
	file string
}

func newMovable(t *testing.T, o *operator, binary string) *movable {
	t.Helper()
	m := &movable{operator: o, file: filepath.Join(t.TempDir(), "offset")}
	o.binary = binary
	o.environment = append(o.environment, offsetVariable+"="+m.file)
	return m
}

// jump sets how far the clock is off, and waits until all replicas have it.
func (m *movable) jump(t *testing.T, by time.Duration) {
	t.Helper()
	text := strconv.Itoa(int(by / time.Second))
	if err := os.WriteFile(m.file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m.file+".new", m.file); err != nil {
		t.Fatal(err)
	}
	fixture.Eventually(t, patience, "the clocks have jumped", func() error {
		for _, r := range m.replicas {
			if now, err := os.ReadFile(m.file + "." + r.name); err != nil || string(now) != text {
				return fmt.Errorf("%s is %q seconds off: %w", r.name, now, errors.Join(err, r.alive()))
			}
		}
		return nil
	})
}

// converts fails where the API server does not get its conversions.
func (w *world) converts(name string) func() error {
	return func() error {
		old := &unstructured.Unstructured{}
		old.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("LlamaStackDistribution"))
		return admin.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, old)
	}
}

// refuses fails where an edit is admitted that the operator would refuse.
func (w *world) refuses(name string) func() error {
	return func() error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":{"models":[{"name":"m","provider":"nobody"}]}}}`))
		err := admin.Patch(w.t.Context(), w.resource(name), patch, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "nobody") {
			return fmt.Errorf("the answer is %w", err)
		}
		return nil
	}
}

func webhookSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: certificate.SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// Proves: L-27, L-30 (the operator's wall clock jumps, and back: no process ends, nobody takes the lease, edits take effect, the webhooks' certificate
// stays one that the API server accepts, and nothing is written but for the edits. By a clock that is a year off, the API server's own
// certificate is not valid: a new connection to it waits for the right time).
func TestClockJumps(t *testing.T) {
	w := newWorld(t)
	binary := buildWithClock(t)
	network := newWay(t, "127.0.0.1:0", apiServerAddress(t))
	m := newMovable(t, newOperator(t, through(t, network.address(), nil)), binary)
	m.start(t)
	m.start(t)
	w.create("s")
	w.waitReady("s")
	for _, by := range []time.Duration{time.Hour, -time.Hour, year, -year} {
		t.Run(by.String(), func(t *testing.T) {
			secret, transitions := webhookSecret(t).ResourceVersion, *lease(t).Spec.LeaseTransitions
			m.jump(t, by)
			took := w.edit("s")()
			within(t, "an edit after the jump", took, editGoal)
			w.waitReady("s")
			m.service.cut() // new connections check the certificate
			fixture.Eventually(t, leastGoal, "the webhooks serve", func() error { return errors.Join(w.converts("s")(), w.refuses("s")()) })
			writes := writesAtRest(t, editGoal)
			if now := *lease(t).Spec.LeaseTransitions; now != transitions {
				t.Errorf("the lease changed hands %d times", now-transitions)
			}

			network.cut()
			again := w.edit("s")
			if by.Abs() < year {
				within(t, "an edit after new connections", again(), editGoal)
			}
			m.service.cut()
			fixture.Eventually(t, leastGoal, "conversion works without the API server", w.converts("s"))
			m.jump(t, 0)
			right := time.Now()
			again()
			back := time.Since(right)
			within(t, "that edit, after the clock was right again", back, editGoal)
			w.waitReady("s")
			m.service.cut()
			fixture.Eventually(t, leastGoal, "the webhooks serve", func() error { return errors.Join(w.converts("s")(), w.refuses("s")()) })
			if webhookSecret(t).ResourceVersion != secret {
				t.Error("there is another certificate")
			}
			figures.add(t, "the operator's clock jumps by "+human(by)+": an edit takes effect after", "5 s, 0 restarts, lease kept, same certificate", seconds(took))
			figures.add(t, "the same: writes of the operator in "+editGoal.String()+" of rest", "0", strconv.Itoa(writes))
			figures.add(t, "the same, and new connections: an edit takes effect, after the clock is right again, after", "5 s, 0 restarts", seconds(back))
		})
	}
	m.sameProcesses(t)
}

func human(d time.Duration) string {
	unit, name := time.Hour, "h"
	if d.Abs() >= year {
		unit, name = year, "year"
	}
	return fmt.Sprintf("%+d %s", d/unit, name)
}

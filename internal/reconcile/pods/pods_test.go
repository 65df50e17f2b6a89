// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

const password = "hunter2-of-the-database"

var known = &pods.Secrets{Hash: "h", Values: []secret.Value{secret.New([]byte(password)), secret.New([]byte("two\nlines"))}}

// pod returns a pod that was created this many minutes after the first one.
func pod(minute int, change func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Namespace: "ai", CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)),
		Annotations: map[string]string{names.AnnotationSecretsHash: "h"},
	}}
	change(&p)
	return p
}

func ready(imageID string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "llama-stack", Ready: true, ImageID: imageID}}
	}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "llama-stack", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

// image sets the image of the container.
func image(name string, change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		change(p)
		p.Status.ContainerStatuses[0].Image = name
	}
}

func ended(code int32, reason, log string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "llama-stack", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: log}},
		}}
	}
}

func unscheduled(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: message}}
	}
}

// Proves: R18, R93, L-17.
func TestObserveNamesTheReasonOfThePod(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   string
	}{
		"no room": {
			unscheduled("0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 x."),
			"Unschedulable: 0/1 nodes are available: 1 Insufficient cpu",
		},
		"evicted":        {func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on\nmemory" }, "Evicted: low on memory"},
		"pulling failed": {waiting("ErrImagePull", "x: not found"), "ImagePullBackOff: x: not found"},
		"pulling waits":  {waiting("ImagePullBackOff", `Back-off pulling image "x": ErrImagePull: x: not found`), "ImagePullBackOff: x: not found"},
		"pulling from a removed organization": {
			image("llamastack/distribution-starter:0.7.1", waiting("ErrImagePull", "pull access denied, repository does not exist or may require authorization")),
			"ImagePullBackOff: organization docker.io/llamastack was removed from its registry, so image " +
				"llamastack/distribution-starter:0.7.1 cannot be pulled",
		},
		"pulling what may not be published": {
			image("ogxai/distribution-starter:0.8.0", waiting("ErrImagePull", "x: not found")),
			"ImagePullBackOff: x: not found; the image is not proven: the workflows of 0.8.0 and 1.0.2 pushed to the organization ogx",
		},
		"pulling what is published": {image("docker.io/ogxai/distribution-starter:1.4.1", waiting("ErrImagePull", "x: not found")), "ImagePullBackOff: x: not found"},
		"pulling from another one":  {image("docker.io/ogxai/distribution-starter:9", waiting("ErrImagePull", "x: not found")), "ImagePullBackOff: x: not found"},
		"no Secret":                 {waiting("CreateContainerConfigError", `secret "a" not found`), `CreateContainerConfigError: secret "a" not found`},
		"a secret in the command": {
			waiting("RunContainerError", `exec: "`+password+`": executable file not found in $PATH`),
			"RunContainerError: exec: [redacted] executable file not found in $PATH",
		},
		"a secret in a path, with a line break": {
			waiting("CreateContainerConfigError", "SubPath `/"+password+"/two\nlines` must not be an absolute path"),
			"CreateContainerConfigError: SubPath [redacted] must not be an absolute path",
		},
		"the values in the command are not known": {func(p *corev1.Pod) {
			waiting("RunContainerError", `exec: "`+password+`"`)(p)
			p.Annotations[names.AnnotationSecretsHash] = "of other values"
		}, "RunContainerError: see its message with: kubectl -n ai describe pod p"},
		"no Secret, and the values are not known": {func(p *corev1.Pod) {
			waiting("CreateContainerConfigError", `couldn't find key token in Secret ai/keys`)(p)
			p.Annotations[names.AnnotationSecretsHash] = "of other values"
		}, "CreateContainerConfigError: couldn't find key token in Secret ai/keys"},
		"root": {func(p *corev1.Pod) {
			waiting("CreateContainerConfigError", `container has runAsNonRoot and image will run as root (pod: "p_ai(1)", container: llama-stack)`)(p)
			p.Annotations[names.AnnotationSecretsHash] = "of other values"
		}, `CreateContainerConfigError: container has runAsNonRoot and image will run as root (pod: "p_ai(1)", container: llama-stack)`},
		"a path of a value that is not known": {func(p *corev1.Pod) {
			waiting("CreateContainerConfigError", "SubPath `/"+password+"` must not be an absolute path")(p)
			p.Annotations[names.AnnotationSecretsHash] = "of other values"
		}, "CreateContainerConfigError: see its message with: kubectl -n ai describe pod p"},
		"starting":        {waiting("ContainerCreating", ""), ""},
		"out of memory":   {ended(137, "OOMKilled", ""), "the server ended with exit code 137 (OOMKilled): its node ran out of memory; it requests 0 and has no limit"},
		"a start of 1.2":  {ended(0, "Completed", ""), "the server ended with exit code 0"},
		"a missing model": {ended(1, "Error", "Traceback (most recent call last):\n  File x\nValueError: Model `gone` not found\n"), "the server ended with exit code 1: ValueError: Model `gone` not found"},
		"a schema": {
			ended(1, "Error", "pydantic_core._pydantic_core.ValidationError: 1 validation error for StackConfig\nserver.port\n  Input should be less than 65536 "+
				"[type=x, input_value='"+password+"', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.11/v/x"),
			"the server ended with exit code 1: pydantic_core._pydantic_core.ValidationError: 1 validation error for StackConfig: server.port: " +
				"Input should be less than 65536",
		},
		"a schema, without a page about it": {
			ended(1, "Error", "ValidationError: 1 validation error for StackConfig\nserver.port\n  Field required"),
			"the server ended with exit code 1: ValidationError: 1 validation error for StackConfig: server.port: Field required",
		},
		"a schema, cut short": {
			ended(1, "Error", "ValidationError: 1 validation error for StackConfig\nserver.port"),
			"the server ended with exit code 1: ValidationError: 1 validation error for StackConfig",
		},
		"colors":            {ended(1, "Error", "\x1b[31mred\u009b0m"), "the server ended with exit code 1: [31mred 0m"},
		"only preemption":   {unscheduled(" preemption: 0/1 nodes are available"), "Unschedulable"},
		"the longest log":   {ended(1, "Error", strings.Repeat(" ", 1995)+"last"), "the server ended with exit code 1: last"},
		"a log that is cut": {ended(1, "Error", strings.Repeat(" ", 1996)+"last"), "the server ended with exit code 1"},
		"a box":             {ended(1, "Error", "╭── Traceback ──╮\n│ x │\n╰───╯\nConnectionError: refused"), "the server ended with exit code 1: ConnectionError: refused"},
		"a log":             {ended(1, "Error", "INFO one\nERROR the last line\n\n"), "the server ended with exit code 1: ERROR the last line"},
		"a secret": {
			ended(1, "Error", "ValueError: "+password+" is too short"), "the server ended with exit code 1: ValueError: [redacted] is too short",
		},
		"the end of a long line": {ended(1, "Error", strings.Repeat("x", 2048)), "the server ended with exit code 1"},
		"the values are not known": {func(p *corev1.Pod) {
			ended(1, "Error", "ValueError: "+password)(p)
			p.Annotations[names.AnnotationSecretsHash] = "of other values"
		}, "the server ended with exit code 1"},
		"a sidecar": {func(p *corev1.Pod) {
			ended(2, "Error", "")(p)
			p.Status.ContainerStatuses[0].Name = "proxy"
		}, "container proxy ended with exit code 2"},
		"ready": {ready("x@sha256:1"), ""},
		"ending": {func(p *corev1.Pod) {
			ended(1, "Error", "")(p)
			p.DeletionTimestamp = new(metav1.Now())
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(0, c.change)
			if got := pods.Observe([]corev1.Pod{p}, "llama-stack", known).NotReady; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			pods.Strip(&p)
			if got := pods.Observe([]corev1.Pod{p}, "llama-stack", known).NotReady; got != c.want {
				t.Errorf("from the cache %s\nwant %s", got, c.want)
			}
		})
	}
}

// Proves: R18 (the first container with a reason comes next, init containers before others).
func TestObserveNamesTheServerBeforeOtherContainers(t *testing.T) {
	const failing, starting, isReady = "CreateContainerConfigError", "PodInitializing", ""
	list := func(namesAndReasons ...string) (statuses []corev1.ContainerStatus) {
		for i := 0; i < len(namesAndReasons); i += 2 {
			name, reason := namesAndReasons[i], namesAndReasons[i+1]
			s := corev1.ContainerStatus{Name: name, Ready: reason == isReady}
			if !s.Ready {
				s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: "of " + name}
			}
			statuses = append(statuses, s)
		}
		return statuses
	}
	for want, c := range map[string]struct{ init, containers []corev1.ContainerStatus }{
		failing + ": of llama-stack": {list("copy", failing), list("a", failing, "llama-stack", failing, "z", failing)},
		failing + ": of copy":        {list("copy", failing), list("a", starting, "llama-stack", starting)},
		failing + ": of a":           {list("copy", isReady), list("a", failing, "llama-stack", starting, "b", failing)},
		failing + ": of z":           {nil, list("a", isReady, "llama-stack", isReady, "z", failing)},
		"":                           {list("copy", starting), list("llama-stack", starting)},
	} {
		p := pod(0, func(p *corev1.Pod) { p.Status.InitContainerStatuses, p.Status.ContainerStatuses = c.init, c.containers })
		if got := pods.Observe([]corev1.Pod{p}, "llama-stack", known).NotReady; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Proves: R7 (no log text is shown before the cluster's Secrets are known).
func TestObserveOmitsLogIfSecretsAreUnknown(t *testing.T) {
	p := pod(0, ended(1, "Error", "ValueError: x"))
	if got := pods.Observe([]corev1.Pod{p}, "llama-stack", nil).NotReady; got != "the server ended with exit code 1" {
		t.Error(got)
	}
}

// Proves: R76.
func TestObservePrefersTheNewestPod(t *testing.T) {
	list := []corev1.Pod{
		pod(1, ready("registry.example/x@sha256:old")), pod(3, ready("registry.example/x@sha256:new")), pod(2, waiting("ErrImagePull", "older")),
		pod(4, waiting("InvalidImageName", "newest")),
	}
	got, want := pods.Observe(list, "llama-stack", known), pods.Observation{NotReady: "InvalidImageName: newest", Remedy: "correct the name or the tag of the image", ImageDigest: "sha256:new"}
	if want.Existing, want.Newest = got.Existing, list[3].CreationTimestamp.Time; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := pods.Observe([]corev1.Pod{pod(0, ready("sha256:of-a-configuration"))}, "llama-stack", known).ImageDigest; got != "" {
		t.Errorf("digest %q, which cannot be pulled", got)
	}
}

// Proves: R18 (the eviction is the reason until then, because Kubernetes keeps evicted pods for long).
func TestObserveForgetsEvictedPodsThatWereReplaced(t *testing.T) {
	evicted := pod(1, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: ephemeral-storage."
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet",
			LastTransitionTime: metav1.NewTime(p.CreationTimestamp.Add(119 * time.Second)),
		}}
	})
	starting := pod(2, waiting("ContainerCreating", ""))
	unscheduled := pod(3, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 node(s) had untolerated taint(s).",
		}}
	})
	later := *unscheduled.DeepCopy() // created long after the eviction, because its predecessor was deleted
	later.CreationTimestamp = metav1.NewTime(unscheduled.CreationTimestamp.Add(time.Hour))
	// A server that exits on request leaves a succeeded pod, and only the condition has the reason.
	graceful := *evicted.DeepCopy()
	graceful.Status.Phase, graceful.Status.Reason, graceful.Status.Message = corev1.PodSucceeded, "", ""
	graceful.Status.Conditions[0].Message = evicted.Status.Message
	graceful.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "llama-stack", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}}
	const unschedulable, wasEvicted = "Unschedulable: 0/1 nodes are available: 1 node(s) had untolerated taint(s)", "Evicted: The node was low on resource: ephemeral-storage."
	const wasEnded = "TerminationByKubelet: The node was low on resource: ephemeral-storage."
	for _, c := range []struct {
		want string
		list []corev1.Pod
	}{
		{wasEvicted, []corev1.Pod{evicted, starting}},
		{unschedulable + "; the previous pod: " + wasEvicted, []corev1.Pod{evicted, evicted, starting, unscheduled}},
		{unschedulable, []corev1.Pod{evicted, pod(2, ready("x")), unscheduled}},
		{unschedulable, []corev1.Pod{evicted, later}},
		{"", []corev1.Pod{evicted, pod(2, ready("x")), pod(3, waiting("ContainerCreating", ""))}},
		{wasEnded, []corev1.Pod{graceful, starting}},
		{unschedulable + "; the previous pod: " + wasEnded, []corev1.Pod{graceful, graceful, starting, unscheduled}},
		{unschedulable, []corev1.Pod{graceful, later}},
		{"", []corev1.Pod{graceful, pod(2, ready("x")), pod(3, waiting("ContainerCreating", ""))}},
	} {
		for i := range c.list {
			pods.Strip(&c.list[i])
		}
		if got := pods.Observe(c.list, "llama-stack", known).NotReady; got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// Proves: R82 (a server is probed again if its pods change, but not if one restarts).
func TestObserveReportsWhichPodsExist(t *testing.T) {
	named := func(uid types.UID, minute int, change func(*corev1.Pod)) corev1.Pod {
		p := pod(minute, change)
		p.UID = uid
		pods.Strip(&p)
		return p
	}
	old, next := named("old", 1, ready("x")), named("new", 2, ready("x"))
	existing := func(list ...corev1.Pod) string { return pods.Observe(list, "llama-stack", known).Existing }
	both := existing(old, next)
	again := named("new", 2, ended(1, "Error", ""))
	if got := existing(again, old); got != both {
		t.Errorf("%q, want %q whatever their order and state", got, both)
	}
	ending := named("old", 1, func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })
	if got := existing(ending, next); got != both {
		t.Errorf("%q, want %q while the old pod is ending", got, both)
	}
	if got := existing(next); got == both || got == "" {
		t.Errorf("%q without the old pod", got)
	}
}

// Proves: R7 (the response of a terminating pod can have Secret values that are no longer known).
func TestObserveReportsPodsThatEndWithOtherSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		known  *pods.Secrets
		want   bool
	}{
		"running":              {func(*corev1.Pod) {}, &pods.Secrets{Hash: "other"}, false},
		"ending":               {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, &pods.Secrets{Hash: "other"}, true},
		"ending with the same": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, known, false},
		"nothing is known":     {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, nil, true},
		"ended": {func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Phase = new(metav1.Now()), corev1.PodFailed
		}, &pods.Secrets{Hash: "other"}, false},
	} {
		p := pod(1, c.change)
		pods.Strip(&p)
		if got := pods.Observe([]corev1.Pod{p, pod(2, ready("x"))}, "llama-stack", c.known).OtherSecrets; got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Proves: L-01.
func TestDifferIgnoresRestarts(t *testing.T) {
	running := pod(0, ended(1, "Error", "x"))
	running.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	running.Status.ContainerStatuses[0].RestartCount = 9
	over := pod(0, ended(1, "Error", "x"))
	over.Status.ContainerStatuses[0].State, over.Status.ContainerStatuses[0].LastTerminationState =
		over.Status.ContainerStatuses[0].LastTerminationState, corev1.ContainerState{}
	first, other := pod(0, ended(1, "Error", "x")), pod(0, ended(1, "Error", "y"))
	for _, p := range []*corev1.Pod{&running, &over, &first, &other} {
		pods.Strip(p)
	}
	if pods.Differ(&first, &running) || pods.Differ(&first, &over) || pods.Differ(&running, &over) {
		t.Error("a restart is news")
	}
	if !pods.Differ(&first, &other) {
		t.Error("another cause is no news")
	}
}

// Proves: L-01, R86 (its Deployment reports the start; a new image is reported by a ready pod).
func TestDifferIgnoresStartingPods(t *testing.T) {
	started := func(ready bool, image string) *corev1.Pod {
		p := pod(0, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
			if ready {
				p.Status.Conditions[0].Status = corev1.ConditionTrue
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "llama-stack", Ready: ready, ImageID: image}}
		})
		pods.Strip(&p)
		return &p
	}
	created := pod(0, func(p *corev1.Pod) { p.Status = corev1.PodStatus{} })
	pods.Strip(&created)
	for name, c := range map[string]struct {
		a, b *corev1.Pod
		want bool
	}{
		"starts":                {&created, started(false, "a@sha256:1"), false},
		"becomes ready":         {started(false, "a@sha256:1"), started(true, "a@sha256:1"), false},
		"image of a ready pod":  {started(true, ""), started(true, "a@sha256:1"), true},
		"another image is used": {started(true, "a@sha256:2"), started(true, "a@sha256:1"), true},
	} {
		if got := pods.Differ(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Proves: L-01.
func TestDifferIgnoresUnusedConditions(t *testing.T) {
	with := func(conditions ...corev1.PodCondition) *corev1.Pod {
		p := pod(0, func(p *corev1.Pod) { p.Status.Conditions = conditions })
		pods.Strip(&p)
		return &p
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason}
	}
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for name, c := range map[string]struct {
		a, b corev1.PodCondition
		want bool
	}{
		"ready":               {condition(corev1.PodReady, yes, ""), condition(corev1.PodReady, no, ""), false},
		"scheduled":           {condition(corev1.PodScheduled, yes, ""), condition(corev1.PodScheduled, no, ""), true},
		"why not scheduled":   {condition(corev1.PodScheduled, no, "a"), condition(corev1.PodScheduled, no, "b"), true},
		"how it is scheduled": {condition(corev1.PodScheduled, yes, "a"), condition(corev1.PodScheduled, yes, "b"), false},
		"why not ready":       {condition(corev1.PodReady, no, "a"), condition(corev1.PodReady, no, "b"), false},
		"another one":         {condition(corev1.PodInitialized, yes, ""), condition(corev1.PodInitialized, no, ""), false},
	} {
		if got := pods.Differ(with(c.a), with(c.b)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// faults are the faults that the test injects before it reads a section of docs/troubleshooting.md, by section.
var faults = map[string]pageStep{
	"401 Unauthorized": {
		before: func(t *testing.T, r *reader) { r.rewrites(t, "vllm-creds", "token=wrong") },
		after:  func(t *testing.T, r *reader) { r.rewrites(t, "vllm-creds", "token="+r.second) },
	},
	"401 Unauthorized: Authentication required": patched(`{"spec":{"auth":{"provider":"kubernetes"}}}`, `{"spec":{"auth":null}}`),
	"500 Internal Server Error": {
		before: func(_ *testing.T, r *reader) { r.Run("kubectl scale deployment/vllm --replicas=0") },
		after: func(_ *testing.T, r *reader) {
			r.Run("kubectl scale deployment/vllm --replicas=1; kubectl rollout status deployment/vllm --timeout=2m")
		},
	},
	"Pending: no node fits the pod": patched(
		`{"spec":{"workload":{"scheduling":{"nodeSelector":{"disk":"fast"}}}}}`, `{"spec":{"workload":{"scheduling":null}}}`,
	),
	"Pending: the PVC is not bound": another("big", `.spec.workload.storage = {size: "200Gi"}`),
	"The image cannot be pulled": {
		before: func(t *testing.T, r *reader) {
			r.Run("kubectl create configmap own --from-literal=config.yaml='version: 2'")
			another("own", `.spec = {distribution: {image: "registry.example.com/team/starter:0.7.1"}, overrideConfig: {configMapName: "own"}}`).before(t, r)
		},
		after: func(_ *testing.T, r *reader) { r.Run("kubectl delete llsd,configmap own") },
	},
	"The rollout is stuck: the server ends": patched(
		`{"spec":{"workload":{"overrides":{"args":["--no-such-option"]}}}}`, `{"spec":{"workload":{"overrides":null}}}`,
	),
	"A Secret is missing": {
		before: func(_ *testing.T, r *reader) { r.Run("kubectl delete secret vllm-creds") },
		after: func(t *testing.T, r *reader) {
			r.puts(t, "vllm-creds", "token="+r.second)
			r.waitReady(t)
		},
	},
	"Stalled, or the last edit was rejected": {
		alone: true,
		before: func(t *testing.T, r *reader) {
			scaleOperator(t, 0)
			r.Run(`kubectl patch llsd my-stack --type=merge -p '{"spec":{"resources":{"models":[{"name":"llama3.2-8b","provider":"vlm"}]}}}'`)
			scaleOperator(t, 2)
		},
		after: func(_ *testing.T, r *reader) {
			r.Run(`kubectl patch llsd my-stack --type=merge -p '{"spec":{"resources":{"models":["llama3.2-8b"]}}}'`)
		},
	},
	"Conflict": {
		before: func(t *testing.T, r *reader) {
			r.Run("kubectl create service clusterip other-service --tcp=80")
			another("other", ".").before(t, r)
		},
		after: func(_ *testing.T, r *reader) {
			r.Run("kubectl delete llsd other; kubectl delete service other-service")
		},
	},
	"The webhook is down": {alone: true, before: func(t *testing.T, _ *reader) { scaleOperator(t, 0) }},
}

// patched returns a step that injects a fault by a patch of the resource, and removes it by another.
func patched(fault, repair string) pageStep {
	apply := func(patch string) func(*testing.T, *reader) {
		return func(t *testing.T, r *reader) {
			t.Helper()
			r.Run("kubectl patch llsd my-stack --type=merge -p '" + patch + "'")
		}
	}
	return pageStep{before: apply(fault), after: func(t *testing.T, r *reader) {
		t.Helper()
		apply(repair)(t, r)
		r.waitReady(t)
	}}
}

// another returns a step that creates a second resource, made from the first by a jq program.
func another(name, change string) pageStep {
	return pageStep{
		before: func(t *testing.T, r *reader) {
			t.Helper()
			r.Run(`jq '.metadata = {name: "` + name + `"} | ` + change + `' my-stack-backup.json | kubectl apply -f -`)
		},
		after: func(t *testing.T, r *reader) {
			t.Helper()
			r.Run("kubectl delete llsd " + name)
		},
	}
}

func (r *reader) puts(t *testing.T, secret, literal string) {
	t.Helper()
	r.Run("kubectl create secret generic " + secret + " --from-literal='" + literal + "' --dry-run=client -o yaml | kubectl apply -f -")
}

// rewrites replaces the value of a Secret, and waits until the server runs with it.
func (r *reader) rewrites(t *testing.T, secret, literal string) {
	t.Helper()
	before := r.in(t).Deployment(r.name).Generation
	r.puts(t, secret, literal)
	framework.Eventually(t, soon, "the operator has seen the new value", func() error {
		if now := r.in(t).Deployment(r.name).Generation; now == before {
			return fmt.Errorf("the Deployment is still at generation %d", now)
		}
		return nil
	})
	r.waitReady(t)
}

func modelServerWantsTheNewKey(t *testing.T, r *reader) {
	t.Helper()
	r.startModelServer(t, sampleServer, sampleModel, r.second)
}

// rememberACompletion gives the server a volume, and stores a completion there.
func rememberACompletion(t *testing.T, r *reader) {
	t.Helper()
	r.Run(`sed -i 's/^  workload:/&\n    storage: {}/' my-stack.yaml && kubectl apply -f my-stack.yaml`)
	r.waitReady(t)
	r.chats(t, sampleServer, sampleServer, sampleModel)
	completionIsThere(t, r)
}

// completionIsThere waits until the server lists a stored completion, which it stores after it has replied.
func completionIsThere(t *testing.T, r *reader) {
	t.Helper()
	r.waitReady(t)
	framework.Eventually(t, soon, "the server reports a stored completion", func() error {
		status, answer, err := tryCall(t, http.MethodGet, r.url(t)+"/v1/chat/completions", nil)
		if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"chat.completion"`) {
			return fmt.Errorf("status %d, %w: %s", status, errors.Join(err), answer)
		}
		return nil
	})
}

func loseEverything(t *testing.T, r *reader) {
	t.Helper()
	r.Run("kubectl delete llsd my-stack --timeout=60s; kubectl wait --for=delete pvc/my-stack-pvc --timeout=2m")
}

// serverRunsAgain restores the server with the data of the backup, because the previous section deletes it.
func serverRunsAgain(t *testing.T, r *reader) {
	t.Helper()
	r.Run("kubectl wait --for=delete pvc/my-stack-pvc --timeout=2m")
	for _, s := range r.sections(t, "backup.md") {
		if !strings.HasPrefix(s[0].Section, "Restore") {
			continue
		}
		for _, b := range s {
			r.follow(t, "backup.md", b)
		}
	}
	completionIsThere(t, r)
}

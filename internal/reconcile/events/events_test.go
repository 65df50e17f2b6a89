// SPDX-License-Identifier: Apache-2.0

package events

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// list parses conditions of the form "Type Status Reason message".
func list(texts ...string) []metav1.Condition {
	var conditions []metav1.Condition
	for _, text := range texts {
		parts := strings.SplitN(text, " ", 4)
		conditions = append(conditions, metav1.Condition{
			Type: parts[0], Status: metav1.ConditionStatus(parts[1]), Reason: parts[2], Message: parts[3],
		})
	}
	return conditions
}

// emitted returns the Events for a change of conditions.
func emitted(before, after []metav1.Condition, warned bool) []string {
	var got []string
	for _, e := range ForChanges(before, after, warned) {
		got = append(got, e.Type+" "+e.Reason+" "+e.Note)
	}
	return got
}

// Proves: L-33 (conditions that change make Events, and only errors make Warnings).
func TestOf(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []metav1.Condition
		want          []string
	}{
		"first pass": {
			nil,
			list("ConfigGenerated True ConfigGenerationSucceeded made", "SecretsResolved False SecretNotFound gone", "DeploymentUpdated False NotApplied gone",
				"Available False NotDeployed none", "Ready False SecretNotFound gone"),
			[]string{"Warning SecretNotFound gone"},
		},
		"nothing new": {
			list("ConfigGenerated True ConfigGenerationSucceeded made"), list("ConfigGenerated True ConfigGenerationSucceeded made"), nil,
		},
		"another text alone": {
			list("DeploymentUpdated False RolloutInProgress 1 of 3"), list("DeploymentUpdated False RolloutInProgress 2 of 3"), nil,
		},
		"sums of others": {
			list("Ready True Ready fine"), list("Ready False SecretNotFound gone", "Stalled True InvalidField wrong"), nil,
		},
		"another reason": {
			list("DeploymentUpdated False RolloutInProgress 1 of 3"), list("DeploymentUpdated False ProgressDeadlineExceeded stuck"),
			[]string{"Warning ProgressDeadlineExceeded stuck"},
		},
		"becoming available": {
			list("Available False ServerUnavailable 0 of 1"), list("Available True ServerAvailable 1 of 1"), []string{"Normal ServerAvailable 1 of 1"},
		},
		"becoming ready": {
			list("DeploymentUpdated False RolloutInProgress 1", "Available False ServerUnavailable 0 of 1", "Ready False RolloutInProgress 1"),
			list("DeploymentUpdated True RolloutComplete all", "Available True ServerAvailable 1 of 1", "Ready True Ready applied"),
			[]string{"Normal Ready applied"},
		},
		"an edit while the server is available": {
			list("DeploymentUpdated True RolloutComplete all", "Ready True Ready applied"),
			list("DeploymentUpdated False RolloutInProgress 1", "Ready False RolloutInProgress 1"),
			[]string{"Normal RolloutInProgress 1"},
		},
		"not available yet": {
			list("Available False NotDeployed none"), list("Available False ServerUnavailable 0 of 1"), nil,
		},
		"not available any more": {
			list("Available True ServerAvailable 1 of 1"), list("Available False ServerUnavailable 0 of 1"), []string{"Warning ServerUnavailable 0 of 1"},
		},
		"scaled to zero": {
			list("Available True ServerAvailable 1 of 1"), list("Available False ScaledToZero zero"), []string{"Normal ScaledToZero zero"},
		},
		"unknown": {
			list("SecretsResolved True AllSecretsFound found"), list("SecretsResolved Unknown LookupFailed timeout"), []string{"Warning LookupFailed timeout"},
		},
		"a percent sign": {
			nil, list("ConfigGenerated False InvalidField 100%s"), []string{"Warning InvalidField 100%s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, emitted(c.before, c.after, false)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: R70 (created, ready and warnings).
func TestNewCustomResourceCausesThreeEvents(t *testing.T) {
	created := list("ConfigGenerated True ConfigGenerationSucceeded made; odd", "SecretsResolved True AllSecretsFound 1", "DeploymentUpdated False RolloutInProgress begins",
		"Available False ServerUnavailable 0 of 1", "Ready False RolloutInProgress begins", "ServiceReady True ServiceReady there")
	progress := list("ConfigGenerated True ConfigGenerationSucceeded made; odd", "SecretsResolved True AllSecretsFound 1", "DeploymentUpdated False RolloutInProgress 0 of 1",
		"Available False ServerUnavailable 0 of 1", "Ready False RolloutInProgress 0 of 1", "ServiceReady True ServiceReady there")
	ready := list("ConfigGenerated True ConfigGenerationSucceeded made; odd", "SecretsResolved True AllSecretsFound 1", "DeploymentUpdated True RolloutComplete all",
		"Available True ServerAvailable 1 of 1", "Ready True Ready applied", "ServiceReady True ServiceReady there")
	var got []string
	var before []metav1.Condition
	for _, after := range [][]metav1.Condition{created, progress, ready, ready} {
		got = append(got, emitted(before, after, true)...)
		before = after
	}
	want := []string{"Warning ConfigGenerationSucceeded made; odd", "Normal RolloutInProgress begins", "Normal Ready applied"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Proves: R12 (a warning makes one Event for each text).
func TestOfWarnings(t *testing.T) {
	const made = "ConfigGenerated True ConfigGenerationSucceeded made"
	for name, c := range map[string]struct {
		before, after []metav1.Condition
		warned        bool
		want          []string
	}{
		"first": {
			nil, list(made+"; odd", "SecretsResolved True AllSecretsFound found"), true,
			[]string{"Warning ConfigGenerationSucceeded made; odd"},
		},
		"the same":    {list(made + "; odd"), list(made + "; odd"), true, nil},
		"another":     {list(made + "; odd"), list(made + "; odder"), true, []string{"Warning ConfigGenerationSucceeded made; odder"}},
		"none more":   {list(made + "; odd"), list(made), false, nil},
		"and a wrong": {list(made), list("ConfigGenerated False InvalidField bad"), true, []string{"Warning InvalidField bad"}},
	} {
		if diff := cmp.Diff(c.want, emitted(c.before, c.after, c.warned)); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}

// The API refuses notes of more than 1024 bytes.
func TestOfBoundsTheNote(t *testing.T) {
	for _, shift := range []string{"", "x", "xx"} {
		got := emitted(nil, list("ConfigGenerated False InvalidField "+shift+strings.Repeat("€", 1000)), false)
		if len(got) != 1 {
			t.Fatalf("%d events", len(got))
		}
		note := strings.TrimPrefix(got[0], "Warning InvalidField ")
		if len(note) > 1024 || !utf8.ValidString(note) || !strings.HasSuffix(note, "… (cut)") {
			t.Errorf("a note of %d bytes, valid: %v", len(note), utf8.ValidString(note))
		}
	}
}

// Proves: R82, R70.
func TestInformationalConditionsCauseNoEvents(t *testing.T) {
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
		after := []metav1.Condition{{Type: v1alpha2.ConditionBackendsReachable, Status: status, Reason: v1alpha2.ReasonNoModelsListed}}
		if got := ForChanges(nil, after, false); len(got) > 0 {
			t.Errorf("%s: %+v", status, got)
		}
	}
}

// Proves: R83, R70 (a server that was not probed, or that requires credentials, makes no Warning).
func TestUnprotectedServerCausesWarningEvent(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionFalse: 1, metav1.ConditionUnknown: 0} {
		after := []metav1.Condition{{Type: v1alpha2.ConditionAccessControlled, Status: status, Reason: "r", Message: "m"}}
		got := ForChanges(nil, after, false)
		if len(got) != want || want == 1 && got[0].Type != corev1.EventTypeWarning {
			t.Errorf("%s: %+v", status, got)
		}
		if again := ForChanges(after, after, false); len(again) > 0 {
			t.Errorf("%s: unchanged: %+v", status, again)
		}
	}
}

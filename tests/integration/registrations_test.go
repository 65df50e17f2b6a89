// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// A ConfigMap registers a distribution. While it is broken, beside an unreadable key, its own resource keeps running,
// another one can be edited, and no server restarts.
//
// Proves: R81, R47, R19, R48, L-23, NFR-004.
func TestInvalidRegistrationAffectsNoOtherResource(t *testing.T) {
	e := newEnv(t)
	op := e.StartOperator()
	name := "own-" + e.Name
	e.Apply(framework.Manifest("mine", "distribution: {name: "+name+"}\n"+suite.VLLMProvider))
	e.Apply(framework.Manifest("other", "distribution: {name: starter}\n"+suite.VLLMProvider))
	message := e.WaitCondition("mine", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.UnknownDistribution))
	if !strings.Contains(message, settings.Sample) {
		t.Errorf("message %q does not name the sample", message)
	}
	base, _ := distributions.Base("starter", "0.7")
	cm := e.Register(name, map[string]string{"image": "registry.example.com/ai/own:nightly", "serverVersion": "0.7.1", "config.yaml": string(base)})
	r := e.WaitReady("mine").Status.ResolvedDistribution
	if r.ConfigSource != v1alpha2.ConfigSourceRegistered || r.Image != cm.Data["image"] || r.ServerLineSource != "serverVersion in ConfigMap "+name {
		t.Errorf("resolvedDistribution %+v", r)
	}
	e.WaitReady("other")
	mine, other := e.Deployment("mine"), e.versions("other")
	// Open Data Hub sets the label on ConfigMaps of its own.
	foreign := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: "foreign-" + name, Labels: cm.Labels}, Data: map[string]string{"run.yaml": "version: ["},
	}
	framework.NoError(t, suite.Admin.Create(t.Context(), foreign))
	t.Cleanup(func() { _ = suite.Admin.Delete(context.Background(), foreign) })
	code, out, errs := e.plugin(framework.Manifest("x", "distribution: {name: "+name+"}\n"+suite.VLLMProvider), "render", "-f", "-", "--from-cluster", "--operator-namespace", framework.OperatorNamespace)
	if code != cli.ExitOK || !strings.Contains(out, "# Base configuration: "+name) || errs != "" {
		t.Errorf("render: exit code %d:\n%s%s", code, out, errs)
	}

	change := func(config string) {
		t.Helper()
		cm.Data["config.yaml"] = config
		framework.NoError(t, suite.Admin.Update(t.Context(), cm))
	}
	change("version: [\n")
	message = e.WaitCondition("mine", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.InvalidOperatorSettings))
	if want := "ConfigMap " + name + ": config.yaml: base configuration " + name + ": not YAML: line 1"; !strings.Contains(message, want) {
		t.Errorf("message %q, want %q in it", message, want)
	}
	waitForSettingsEvent(t, name, "config.yaml: base configuration")
	const metric = "llamastack_operator_settings_errors"
	if got := op.Counted(t, metric); !slices.Equal(got, []string{metric + "{} 1"}) {
		t.Errorf("the metric reports %v", got)
	}
	var checked, notes bytes.Buffer
	code = plugin.Run(t.Context(), []string{"validate", "--from-cluster", "--operator-namespace", framework.OperatorNamespace, "--kubeconfig", suite.Cluster.Kubeconfig},
		cli.Streams{In: strings.NewReader(""), Out: &checked, Err: &notes})
	if code != cli.ExitFailure || !strings.Contains(checked.String(), "error: ConfigMap "+name+": config.yaml: ") {
		t.Errorf("validate: exit code %d:\n%s%s", code, checked.String(), notes.String())
	}
	if diff := cmp.Diff(other, e.versions("other")); diff != "" {
		t.Errorf("another resource was touched (-before +after):\n%s", diff)
	}
	common := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: settings.ConfigMapName}, Data: map[string]string{settings.KeyDistributions: "- ["},
	}
	framework.NoError(t, suite.Admin.Create(t.Context(), common))
	t.Cleanup(func() { _ = suite.Admin.Delete(context.Background(), common) })
	waitForSettingsEvent(t, settings.ConfigMapName, "key "+settings.KeyDistributions)
	e.PatchSpec("other", `{"workload":{"replicas":2}}`)
	e.WaitReady("other")
	change(string(base))
	e.WaitReady("mine")
	framework.NoError(t, suite.Admin.Delete(t.Context(), cm))
	// The unreadable key may be the one with this name.
	e.WaitCondition("mine", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.InvalidOperatorSettings))
	framework.NoError(t, suite.Admin.Delete(t.Context(), common))
	e.WaitCondition("mine", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.UnknownDistribution))
	if got := e.Deployment("mine"); got.Generation != mine.Generation {
		t.Errorf("generation %d of the Deployment, was %d: it was rolled out again", got.Generation, mine.Generation)
	}
	e.Eventually("nothing is wrong", func() error {
		if got := op.Counted(t, metric); !slices.Equal(got, []string{metric + "{} 0"}) {
			return fmt.Errorf("the metric reports %v", got)
		}
		return nil
	})
}

// waitForSettingsEvent waits for the Event on a ConfigMap of the operator's namespace.
func waitForSettingsEvent(t *testing.T, configMap, text string) {
	t.Helper()
	framework.Eventually(t, framework.Patience, "an Event on the ConfigMap "+configMap, func() error {
		var list eventsv1.EventList
		if err := suite.Admin.List(t.Context(), &list, client.InNamespace(framework.OperatorNamespace)); err != nil {
			return err
		}
		for i := range list.Items {
			ev := &list.Items[i]
			if ev.Regarding.Kind == "ConfigMap" && ev.Regarding.Name == configMap && ev.Type == corev1.EventTypeWarning &&
				ev.Reason == string(problem.InvalidOperatorSettings) && strings.Contains(ev.Note, text) {
				return nil
			}
		}
		return fmt.Errorf("none of %d Events", len(list.Items))
	})
}

func (e *env) plugin(stdin string, args ...string) (code int, out, errs string) {
	e.T.Helper()
	var stdout, stderr bytes.Buffer
	args = append(args, "--kubeconfig", suite.Cluster.Kubeconfig, "-n", e.Name)
	code = plugin.Run(e.T.Context(), args, cli.Streams{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

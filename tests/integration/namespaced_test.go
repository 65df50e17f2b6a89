// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// namespacedStack uses every kind that the operator makes, with a derived Secret.
const namespacedStack = `
distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: keys, key: token}}}
storage: {kv: {type: redis, endpoint: 'redis:6379', password: {name: keys, key: token}}}
workload: {storage: {}, podDisruptionBudget: {}, autoscaling: {maxReplicas: 2}}
networking: {expose: {hostname: a.example}, allowedFrom: {namespaces: [a]}}
`

// The program as the overlay of docs/namespaced.md runs it works in two namespaces with Roles only: it is denied nothing, it asks for nothing in other
// namespaces or in the whole cluster, and if it asked, it would be denied.
//
// Proves: L-34, L-19, R72 (also for a Secret that only the operator's settings name).
func TestNamespacedOperatorStaysInItsNamespaces(t *testing.T) {
	t.Parallel()
	const elsewhere = "elsewhere"
	s := newServing(t)
	overlay := filepath.Join(framework.Root(), "config", "overlays", "namespaced")
	var blocks []string
	for _, b := range framework.CodeBlocks(t, filepath.Join(framework.Root(), "docs", "namespaced.md")) {
		blocks = append(blocks, b.Text)
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks are on the page", len(blocks))
	}
	f := s.follower()
	f.dir = framework.Root()
	f.run(blocks[0])
	s.established(crdName)
	args, watched := overlayArgs(t, s, overlay)
	if len(watched) != 2 {
		t.Fatalf("the overlay watches %q, want two namespaces", watched)
	}
	for _, namespace := range append(slices.Clone(watched), elsewhere) {
		s.kubectl("create", "namespace", namespace)
	}
	f.run(blocks[1])
	for _, namespace := range append(slices.Clone(watched), elsewhere) {
		if namespace != elsewhere {
			nodeDouble(t, s.admin, namespace)
		}
		s.kubectl("create", "secret", "generic", "keys", "-n", namespace, "--from-literal=token="+canaries.New())
		s.apply(manifest("s", namespacedStack), "-n", namespace)
	}
	p := s.run(buildManager(t), append(args, "--zap-log-level=127")...)
	for _, namespace := range watched {
		s.waitAvailable(namespace)
	}
	// A reference that appears, the operator's settings, an edit, and the end of a resource.
	s.kubectl("create", "configmap", "llama-stack-operator-config", "-n", operatorNamespace, "--from-literal=forbid=[commandAndArgs]")
	s.kubectl("patch", "llsd", "s", "-n", watched[0], "--type=merge", "-p", `{"spec":{"workload":{"overrides":{"args":["--quiet"]}}}}`)
	s.waitCondition(watched[0], "ConfigGenerated", "False", "ForbiddenBySettings")
	s.kubectl("delete", "configmap", "llama-stack-operator-config", "-n", operatorNamespace)
	s.waitCondition(watched[0], "ConfigGenerated", "True", "")
	s.secretOfPodDefaultsArrives(watched[0])
	s.kubectl("patch", "llsd", "s", "-n", watched[0], "--type=merge", "-p", `{"spec":{"networking":null,"storage":null}}`)
	framework.Eventually(t, time.Minute, "what is no longer desired is removed", func() error {
		out, err := s.cluster.KubectlRun(t.Context(), "get", "ingress,networkpolicy", "-n", watched[0], "-o", "name")
		if err == nil && strings.Contains(out, "/s-") {
			err = fmt.Errorf("there are %s", out)
		}
		return err
	})
	s.kubectl("delete", "llsd", "s", "-n", watched[1], "--wait=true")
	p.terminate(t)

	made, err := s.cluster.Requests()
	framework.NoError(t, err)
	strays, inside := framework.UnexpectedRequests(made, operatorServiceAccount, append([]string{operatorNamespace}, watched...)...)
	for _, stray := range strays {
		t.Error(stray)
	}
	if inside < 50 {
		t.Errorf("%d requests of the operator's in the audit log, want more", inside)
	}
	s.deniedOutside(elsewhere)
	out := s.kubectl("get", "all,configmaps,llsd", "-n", elsewhere, "-o", "yaml")
	if strings.Contains(out, "conditions:") || strings.Contains(out, "kind: Deployment") {
		t.Errorf("somebody touched the namespace %s:\n%s", elsewhere, out)
	}
}

// secretOfPodDefaultsArrives has the pods of all servers read a Secret: it is waited for, and its new content rolls the pods.
func (s *serving) secretOfPodDefaultsArrives(namespace string) {
	t := s.t
	t.Helper()
	s.kubectl("create", "configmap", "llama-stack-operator-config", "-n", operatorNamespace,
		"--from-literal=podDefaults=overrides: {envFrom: [{secretRef: {name: team-keys}}]}")
	s.waitCondition(namespace, "SecretsResolved", "False", "SecretNotFound")
	s.kubectl("create", "secret", "generic", "team-keys", "-n", namespace, "--from-literal=TOKEN="+canaries.New())
	s.waitCondition(namespace, "SecretsResolved", "True", "")
	read := func() (generation, from string) {
		out := s.kubectl("get", "deployment", "s", "-n", namespace, "-o", "jsonpath={.metadata.generation} {.spec.template.spec.containers[0].envFrom[*].secretRef.name}")
		generation, from, _ = strings.Cut(out, " ")
		return generation, from
	}
	framework.Eventually(t, time.Minute, "the pods get the Secret", func() error {
		if _, from := read(); from != "team-keys" {
			return fmt.Errorf("they get %q", from)
		}
		return nil
	})
	before, _ := read()
	s.kubectl("patch", "secret", "team-keys", "-n", namespace, "-p", `{"stringData":{"TOKEN":"`+canaries.New()+`"}}`)
	framework.Eventually(t, time.Minute, "its new content rolls the pods", func() error {
		if after, _ := read(); after == before {
			return fmt.Errorf("generation %s", after)
		}
		return nil
	})
	s.kubectl("delete", "configmap", "llama-stack-operator-config", "-n", operatorNamespace)
}

// overlayArgs are the arguments of the operator in the overlay, but for addresses that this process chooses, and the namespaces that
// they name.
func overlayArgs(t *testing.T, s *serving, overlay string) (args, watched []string) {
	t.Helper()
	for document := range strings.SplitSeq(s.kubectl("kustomize", overlay), "\n---\n") {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &d); err != nil || d.Kind != "Deployment" {
			continue // another kind
		}
		for _, arg := range d.Spec.Template.Spec.Containers[0].Args {
			if list, ok := strings.CutPrefix(arg, "--watch-namespaces="); ok {
				watched = strings.Split(list, ",")
			}
			if !strings.HasPrefix(arg, "--health-probe-bind-address=") {
				args = append(args, arg)
			}
		}
	}
	return args, watched
}

// waitCondition waits for a condition of the LlamaStackDistribution s, for its current generation.
func (s *serving) waitCondition(namespace, condition string, status metav1.ConditionStatus, reason string) {
	s.t.Helper()
	awaitCondition(s.t, s.admin, client.ObjectKey{Namespace: namespace, Name: "s"}, condition, status, reason)
}

func (s *serving) waitAvailable(namespace string) {
	s.t.Helper()
	s.waitCondition(namespace, "DeploymentUpdated", "True", "")
	s.waitCondition(namespace, "Available", "True", "")
}

// deniedOutside checks that the Roles allow nothing in the whole cluster and in the namespace.
func (s *serving) deniedOutside(namespace string) {
	s.t.Helper()
	config, err := s.cluster.ServiceAccountConfig(operatorNamespace, operatorServiceAccount)
	framework.NoError(s.t, err)
	config.UserAgent = framework.OtherUserAgent
	operator, err := client.New(config, client.Options{Scheme: s.admin.Scheme()})
	framework.NoError(s.t, err)
	stacks := &unstructured.UnstructuredList{}
	stacks.SetGroupVersionKind(schema.GroupVersionKind{Group: "llamastack.io", Version: "v1alpha2", Kind: "LlamaStackDistributionList"})
	for what, ask := range map[string]func(context.Context) error{
		"Secrets of all namespaces":      func(ctx context.Context) error { return operator.List(ctx, &corev1.SecretList{}) },
		"LlamaStackDistributions of all": func(ctx context.Context) error { return operator.List(ctx, stacks) },
		"Secrets of another namespace": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace))
		},
		"a Secret of its own namespace, listed": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.SecretList{}, client.InNamespace(operatorNamespace))
		},
		"ConfigMaps of another namespace": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
		},
		"the namespaces": func(ctx context.Context) error { return operator.List(ctx, &corev1.NamespaceList{}) },
		"a Deployment of another namespace": func(ctx context.Context) error {
			return operator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "s"}, &appsv1.Deployment{})
		},
	} {
		if err := ask(s.t.Context()); !apierrors.IsForbidden(err) {
			s.t.Errorf("%s: %v, want that it is denied", what, err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// namespacedStack uses every kind that the operator makes, with a derived Secret.
const namespacedStack = `
distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: keys, key: token}}}
storage: {kv: {type: redis, endpoint: 'redis:6379', password: {name: keys, key: token}}}
workload: {storage: {}, podDisruptionBudget: {}, autoscaling: {maxReplicas: 2}}
networking: {expose: {hostname: a.example}, allowedFrom: {namespaces: [a]}}
`

// The program runs as in the overlay of docs/namespaced.md, in two namespaces with Roles only. No request is denied,
// and none concerns other namespaces or the whole cluster.
//
// Proves: L-34, L-19, R72 (also for a Secret that only the operator's settings name).
func TestNamespacedOperatorStaysInItsNamespaces(t *testing.T) {
	t.Parallel()
	const elsewhere = "elsewhere"
	s := newControlPlane(t)
	overlay := filepath.Join(framework.Root(), "config", "overlays", "namespaced")
	var blocks []string
	for _, b := range framework.CodeBlocks(t, filepath.Join(framework.Root(), "docs", "namespaced.md")) {
		blocks = append(blocks, b.Text)
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks are on the page", len(blocks))
	}
	f := s.follower()
	f.Dir = framework.Root()
	f.Run(blocks[0])
	s.established(framework.CRD)
	args, watched := overlayArgs(t, s, overlay)
	if len(watched) != 2 {
		t.Fatalf("the overlay watches %q, want two namespaces", watched)
	}
	for _, namespace := range append(slices.Clone(watched), elsewhere) {
		s.Kubectl("create", "namespace", namespace)
	}
	f.Run(blocks[1])
	for _, namespace := range append(slices.Clone(watched), elsewhere) {
		if namespace != elsewhere {
			framework.StartFakeKubelet(t, s.Client, namespace)
		}
		s.Kubectl("create", "secret", "generic", "keys", "-n", namespace, "--from-literal=token="+suite.Canaries.New())
		s.Apply(framework.Manifest("s", namespacedStack), "-n", namespace)
	}
	p := s.run(buildManager(t), append(args, "--zap-log-level=127")...)
	for _, namespace := range watched {
		s.waitAvailable(namespace)
	}
	// A new reference, the operator's settings, an edit, and the deletion of a resource.
	s.Kubectl("create", "configmap", "llama-stack-operator-config", "-n", framework.OperatorNamespace, "--from-literal=forbid=[commandAndArgs]")
	s.Kubectl("patch", "llsd", "s", "-n", watched[0], "--type=merge", "-p", `{"spec":{"workload":{"overrides":{"args":["--quiet"]}}}}`)
	s.in(watched[0]).WaitCondition("s", "ConfigGenerated", "False", "ForbiddenBySettings")
	s.Kubectl("delete", "configmap", "llama-stack-operator-config", "-n", framework.OperatorNamespace)
	s.in(watched[0]).WaitCondition("s", "ConfigGenerated", "True", "")
	s.secretOfPodDefaultsArrives(watched[0])
	s.Kubectl("patch", "llsd", "s", "-n", watched[0], "--type=merge", "-p", `{"spec":{"networking":null,"storage":null}}`)
	s.Eventually("what is no longer desired is removed", func() error {
		out, err := s.Cluster.KubectlRun(t.Context(), "get", "ingress,networkpolicy", "-n", watched[0], "-o", "name")
		if err == nil && strings.Contains(out, "/s-") {
			err = fmt.Errorf("there are %s", out)
		}
		return err
	})
	s.Kubectl("delete", "llsd", "s", "-n", watched[1], "--wait=true")
	p.Terminate(t)

	made, err := s.Cluster.Requests()
	framework.NoError(t, err)
	strays, inside := framework.UnexpectedRequests(made, framework.OperatorName, append([]string{framework.OperatorNamespace}, watched...)...)
	for _, stray := range strays {
		t.Error(stray)
	}
	if inside < 50 {
		t.Errorf("%d requests of the operator's in the audit log, want more", inside)
	}
	s.deniedOutside(elsewhere)
	out := s.Kubectl("get", "all,configmaps,llsd", "-n", elsewhere, "-o", "yaml")
	if strings.Contains(out, "conditions:") || strings.Contains(out, "kind: Deployment") {
		t.Errorf("the namespace %s was changed:\n%s", elsewhere, out)
	}
}

// secretOfPodDefaultsArrives makes the pods of all servers read a Secret: the operator waits for it, and its new
// content rolls the pods.
func (s *controlPlane) secretOfPodDefaultsArrives(namespace string) {
	t := s.T
	t.Helper()
	s.Kubectl("create", "configmap", "llama-stack-operator-config", "-n", framework.OperatorNamespace,
		"--from-literal=podDefaults=overrides: {envFrom: [{secretRef: {name: team-keys}}]}")
	s.in(namespace).WaitCondition("s", "SecretsResolved", "False", "SecretNotFound")
	s.Kubectl("create", "secret", "generic", "team-keys", "-n", namespace, "--from-literal=TOKEN="+suite.Canaries.New())
	s.in(namespace).WaitCondition("s", "SecretsResolved", "True", "")
	read := func() (generation, from string) {
		out := s.Kubectl("get", "deployment", "s", "-n", namespace, "-o", "jsonpath={.metadata.generation} {.spec.template.spec.containers[0].envFrom[*].secretRef.name}")
		generation, from, _ = strings.Cut(out, " ")
		return generation, from
	}
	framework.Eventually(t, framework.Patience, "the pods get the Secret", func() error {
		if _, from := read(); from != "team-keys" {
			return fmt.Errorf("they get %q", from)
		}
		return nil
	})
	before, _ := read()
	s.Kubectl("patch", "secret", "team-keys", "-n", namespace, "-p", `{"stringData":{"TOKEN":"`+suite.Canaries.New()+`"}}`)
	framework.Eventually(t, framework.Patience, "its new content rolls the pods", func() error {
		if after, _ := read(); after == before {
			return fmt.Errorf("generation %s", after)
		}
		return nil
	})
	s.Kubectl("delete", "configmap", "llama-stack-operator-config", "-n", framework.OperatorNamespace)
}

// overlayArgs returns the operator's arguments and watched namespaces in the overlay, with the addresses replaced by
// those of this process.
func overlayArgs(t *testing.T, s *controlPlane, overlay string) (args, watched []string) {
	t.Helper()
	for document := range strings.SplitSeq(s.Kubectl("kustomize", overlay), "\n---\n") {
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

func (s *controlPlane) waitAvailable(namespace string) {
	s.T.Helper()
	s.in(namespace).WaitCondition("s", "DeploymentUpdated", "True", "")
	s.in(namespace).WaitCondition("s", "Available", "True", "")
}

// deniedOutside checks that the Roles grant nothing in the whole cluster and in the namespace.
func (s *controlPlane) deniedOutside(namespace string) {
	s.T.Helper()
	config, err := s.Cluster.ServiceAccountConfig(framework.OperatorNamespace, framework.OperatorName)
	framework.NoError(s.T, err)
	config.UserAgent = framework.OtherUserAgent
	operator, err := client.New(config, client.Options{Scheme: s.Client.Scheme()})
	framework.NoError(s.T, err)
	stacks := &unstructured.UnstructuredList{}
	stacks.SetGroupVersionKind(schema.GroupVersionKind{Group: "llamastack.io", Version: "v1alpha2", Kind: "LlamaStackDistributionList"})
	for what, ask := range map[string]func(context.Context) error{
		"Secrets of all namespaces":      func(ctx context.Context) error { return operator.List(ctx, &corev1.SecretList{}) },
		"LlamaStackDistributions of all": func(ctx context.Context) error { return operator.List(ctx, stacks) },
		"Secrets of another namespace": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.SecretList{}, client.InNamespace(namespace))
		},
		"a Secret of its own namespace, listed": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.SecretList{}, client.InNamespace(framework.OperatorNamespace))
		},
		"ConfigMaps of another namespace": func(ctx context.Context) error {
			return operator.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
		},
		"the namespaces": func(ctx context.Context) error { return operator.List(ctx, &corev1.NamespaceList{}) },
		"a Deployment of another namespace": func(ctx context.Context) error {
			return operator.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "s"}, &appsv1.Deployment{})
		},
	} {
		if err := ask(s.T.Context()); !apierrors.IsForbidden(err) {
			s.T.Errorf("%s: %v, want that it is denied", what, err)
		}
	}
}

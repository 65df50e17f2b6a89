// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// serverStart bounds how long a real server takes to become Ready on a busy machine.
	serverStart = 3 * time.Minute
	// soon bounds waits that involve no server.
	soon = time.Minute
)

// stack is a LlamaStackDistribution, the only one in its namespace.
type stack struct{ namespace, name string }

func (s stack) key() client.ObjectKey { return client.ObjectKey{Namespace: s.namespace, Name: s.name} }

func (s stack) in(t *testing.T) *framework.Namespace { return in(t, s.namespace) }

func in(t *testing.T, namespace string) *framework.Namespace {
	t.Helper()
	return &framework.Namespace{T: t, Cluster: cluster, Client: kube, Name: namespace}
}

// edit applies the resource with one field of its spec set to another value.
func (s stack) edit(t *testing.T, resource *unstructured.Unstructured, value any, fields ...string) string {
	t.Helper()
	return s.in(t).Apply(edited(t, resource, value, fields...))
}

func edited(t *testing.T, resource *unstructured.Unstructured, value any, fields ...string) string {
	t.Helper()
	changed := resource.DeepCopy()
	framework.NoError(t, unstructured.SetNestedField(changed.Object, value, append([]string{"spec"}, fields...)...))
	return asJSON(t, changed.Object)
}

func (s stack) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	pods := s.in(t).Pods(s.name)
	if len(pods) != 1 {
		t.Fatalf("%d pods, want 1", len(pods))
	}
	return &pods[0]
}

func (s stack) configMaps(t *testing.T) []string {
	t.Helper()
	var list corev1.ConfigMapList
	s.in(t).Owned(&list, s.name)
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// waitReady waits until the current spec is applied, the server has reported its version, and the pods of earlier
// revisions are gone. It runs the checks at each poll.
func (s stack) waitReady(t *testing.T, checks ...func()) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	var cr *v1alpha2.LlamaStackDistribution
	framework.Eventually(t, serverStart, s.name+" is Ready", func() error {
		for _, check := range checks {
			check()
		}
		cr = s.in(t).CR(s.name)
		switch {
		case cr.Status.ObservedGeneration != cr.Generation || !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady):
			return fmt.Errorf("phase %q, generation %d of %d: %s", cr.Status.Phase, cr.Status.ObservedGeneration, cr.Generation, conditions(cr))
		case cr.Status.DistributionConfig == nil || len(cr.Status.DistributionConfig.Providers) == 0:
			return errors.New("the server's providers are not known yet")
		case len(s.in(t).Pods(s.name)) != 1:
			return fmt.Errorf("%d pods", len(s.in(t).Pods(s.name)))
		}
		return nil
	})
	return cr
}

func conditions(cr *v1alpha2.LlamaStackDistribution) string {
	var texts []string
	for _, c := range cr.Status.Conditions {
		texts = append(texts, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(texts, "; ")
}

// versions returns the resourceVersions of the resource and of all objects that the operator made for it, so equal
// results mean that there was no write in between.
func (s stack) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := s.in(t).ResourceVersions(s.name, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Service{},
		&corev1.ServiceAccount{})
	versions["LlamaStackDistribution"] = s.in(t).CR(s.name).ResourceVersion
	return versions
}

// settled waits until there has been no write for a while, and returns the versions.
func (s stack) settled(t *testing.T) map[string]string {
	t.Helper()
	const quiet = time.Second
	versions, since := s.versions(t), time.Now()
	framework.Eventually(t, soon, "everything about "+s.name+" has settled", func() error {
		if now := s.versions(t); !maps.Equal(now, versions) {
			diff := cmp.Diff(versions, now)
			versions, since = now, time.Now()
			return errors.New("last change: " + diff)
		}
		if time.Since(since) < quiet {
			return errors.New("not quiet for long enough yet")
		}
		return nil
	})
	return versions
}

// namespace creates a namespace that enforces the restricted Pod Security Standard, if it does not exist.
func namespace(t *testing.T, name string) {
	t.Helper()
	framework.NoError(t, client.IgnoreAlreadyExists(kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}})))
	// Kubernetes creates the default objects of a namespace asynchronously.
	framework.Eventually(t, soon, "namespace "+name+" has what every namespace has", func() error {
		key := client.ObjectKey{Namespace: name, Name: "default"}
		if err := kube.Get(t.Context(), key, &corev1.ServiceAccount{}); err != nil {
			return err
		}
		key.Name = "kube-root-ca.crt"
		return kube.Get(t.Context(), key, &corev1.ConfigMap{})
	})
}

// load reads a manifest with one object, by its path in the checkout.
func load(t *testing.T, path ...string) *unstructured.Unstructured {
	t.Helper()
	text := framework.ReadFile(t, filepath.Join(append([]string{framework.Root()}, path...)...))
	u := &unstructured.Unstructured{}
	framework.NoError(t, yaml.Unmarshal(text, &u.Object))
	return u
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	framework.NoError(t, err)
	return string(text)
}

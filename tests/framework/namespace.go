// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"encoding/json"
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Namespace reads, writes and waits for the objects of a namespace, for one test.
type Namespace struct {
	T       testing.TB
	Cluster *Cluster
	// Client has the permissions of an administrator.
	Client client.WithWatch
	Name   string

	within time.Duration
}

// Within returns the namespace with another deadline for waiting than Patience.
func (n *Namespace) Within(d time.Duration) *Namespace {
	other := *n
	other.within = d
	return &other
}

// Eventually polls until check returns nil, and fails the test with the last error at the deadline of the namespace.
func (n *Namespace) Eventually(what string, check func() error) {
	n.T.Helper()
	Eventually(n.T, cmp.Or(n.within, Patience), what, check)
}

// TryKubectl runs kubectl in the namespace. In the namespace default, objects may name another one.
func (n *Namespace) TryKubectl(stdin string, args ...string) (string, error) {
	if n.Name != metav1.NamespaceDefault {
		args = append([]string{"-n", n.Name}, args...)
	}
	return n.Cluster.KubectlInput(n.T.Context(), stdin, args...)
}

// Kubectl runs kubectl in the namespace and returns its output.
func (n *Namespace) Kubectl(args ...string) string {
	n.T.Helper()
	out, err := n.TryKubectl("", args...)
	NoError(n.T, err)
	return out
}

// TryApply applies a manifest in the namespace and returns the output of kubectl.
func (n *Namespace) TryApply(manifest string, args ...string) (string, error) {
	return n.TryKubectl(manifest, append([]string{"apply", "-f", "-"}, args...)...)
}

// Apply applies a manifest in the namespace, and returns the output of kubectl.
func (n *Namespace) Apply(manifest string, args ...string) string {
	n.T.Helper()
	out, err := n.TryApply(manifest, args...)
	NoError(n.T, err)
	return strings.TrimSpace(out)
}

// Key returns the key of an object in the namespace.
func (n *Namespace) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: n.Name, Name: name}
}

// Get reads an object of the namespace.
func (n *Namespace) Get(o client.Object, name string) error {
	return n.Client.Get(n.T.Context(), n.Key(name), o)
}

// CR returns the custom resource.
func (n *Namespace) CR(name string) *v1alpha2.LlamaStackDistribution {
	n.T.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	NoError(n.T, n.Get(cr, name))
	return cr
}

// Deployment returns the Deployment.
func (n *Namespace) Deployment(name string) *appsv1.Deployment {
	n.T.Helper()
	d := &appsv1.Deployment{}
	NoError(n.T, n.Get(d, name))
	return d
}

// Revision returns the number of rollouts of the Deployment.
func (n *Namespace) Revision(name string) string {
	n.T.Helper()
	return n.Deployment(name).Annotations["deployment.kubernetes.io/revision"]
}

// RolledOut returns an error until all pods of the Deployment are of its current template and available, and no others
// exist.
func RolledOut(d *appsv1.Deployment) error {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	if s := d.Status; s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want || s.Replicas != want {
		return fmt.Errorf("generation %d of %d, %d pods, %d of the new revision, %d available, want %d",
			s.ObservedGeneration, d.Generation, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, want)
	}
	return nil
}

// Owned lists into list the objects that the operator made for the custom resource.
func (n *Namespace) Owned(list client.ObjectList, name string) {
	n.T.Helper()
	NoError(n.T, n.Client.List(n.T.Context(), list, client.InNamespace(n.Name), client.MatchingLabels{"app.kubernetes.io/instance": name}))
}

// Pods returns the pods of the custom resource.
func (n *Namespace) Pods(name string) []corev1.Pod {
	n.T.Helper()
	var list corev1.PodList
	n.Owned(&list, name)
	return list.Items
}

// CreateSecret creates a Secret.
func (n *Namespace) CreateSecret(name string, data map[string]string) {
	n.T.Helper()
	s := &corev1.Secret{ObjectMeta: n.Meta(name), StringData: data}
	NoError(n.T, n.Client.Create(n.T.Context(), s))
}

// PutTLSSecret creates or updates a Secret of the type kubernetes.io/tls, and adds the lines of its private key to the
// canaries.
func (n *Namespace) PutTLSSecret(canaries *Canaries, name string, data map[string][]byte) {
	n.T.Helper()
	for line := range strings.SplitSeq(string(data[corev1.TLSPrivateKeyKey]), "\n") {
		if len(line) > 40 {
			canaries.Add(line)
		}
	}
	n.Put(&corev1.Secret{ObjectMeta: n.Meta(name), Type: corev1.SecretTypeTLS, Data: data})
}

// Put creates or updates an object.
func (n *Namespace) Put(o client.Object) {
	n.T.Helper()
	err := n.Client.Create(n.T.Context(), o)
	if apierrors.IsAlreadyExists(err) {
		err = n.Client.Update(n.T.Context(), o)
	}
	NoError(n.T, err)
}

// Meta returns the metadata of a new object.
func (n *Namespace) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: n.Name, Name: name}
}

// CreateConfigMap creates a ConfigMap.
func (n *Namespace) CreateConfigMap(name string, data map[string]string) *corev1.ConfigMap {
	n.T.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: n.Meta(name), Data: data}
	NoError(n.T, n.Client.Create(n.T.Context(), cm))
	return cm
}

// WaitCondition waits until the custom resource has the condition for its current generation, with all texts in the
// message, and returns the message. An empty reason matches any.
func (n *Namespace) WaitCondition(name, condition string, status metav1.ConditionStatus, reason string, texts ...string) (message string) {
	n.T.Helper()
	n.Eventually(fmt.Sprintf("%s/%s %s=%s %s %q", n.Name, name, condition, status, reason, texts), func() (err error) {
		message, err = n.HasCondition(name, condition, status, reason)
		if err == nil && slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(message, text) }) {
			err = fmt.Errorf("message %q", message)
		}
		return err
	})
	return message
}

// HasCondition returns the message of the condition, or an error if the custom resource does not have it for its
// current generation. It reads a tree, because not every stored resource fits Go's types.
func (n *Namespace) HasCondition(name, condition string, status metav1.ConditionStatus, reason string) (message string, err error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	if err := n.Get(u, name); err != nil {
		return "", err
	}
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == condition && c["status"] == string(status) && (reason == "" || c["reason"] == reason) && c["observedGeneration"] == u.GetGeneration() {
			message, _ = c["message"].(string)
			return message, nil
		}
	}
	return "", fmt.Errorf("generation %d, conditions %v", u.GetGeneration(), conditions)
}

// WaitReady waits until the custom resource is Ready and the server has reported its version.
func (n *Namespace) WaitReady(name string) *v1alpha2.LlamaStackDistribution {
	n.T.Helper()
	n.WaitCondition(name, v1alpha2.ConditionReady, metav1.ConditionTrue, "")
	n.Eventually("the server of "+name+" reports its version", func() error {
		if v := n.CR(name).Status.Version; v == nil || v.LlamaStackServerVersion == "" {
			return fmt.Errorf("version %+v", v)
		}
		return nil
	})
	return n.CR(name)
}

// ResourceVersions returns the resource versions of the objects of these kinds, by kind and name: those of the custom
// resource, or all of the namespace without a name.
func (n *Namespace) ResourceVersions(name string, kinds ...client.Object) map[string]string {
	n.T.Helper()
	versions := map[string]string{}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, n.Client.Scheme())
		NoError(n.T, err)
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if name == "" {
			NoError(n.T, n.Client.List(n.T.Context(), list, client.InNamespace(n.Name)))
		} else {
			n.Owned(list, name)
		}
		for i := range list.Items {
			versions[gvk.Kind+"/"+n.Name+"/"+list.Items[i].Name] = list.Items[i].ResourceVersion
		}
	}
	return versions
}

// Manifest returns the manifest of a custom resource in v1alpha2.
func Manifest(name, spec string) string {
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	return "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata:\n  name: " + name + "\nspec:\n" + indented + "\n"
}

// Sample returns a file of config/samples.
func Sample(t testing.TB, name string) string {
	t.Helper()
	return string(ReadFile(t, filepath.Join(Root(), "config", "samples", name)))
}

// Columns returns the words of each line.
func Columns(table string) (rows [][]string) {
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

// Tree returns the value as its JSON form is decoded.
func Tree(t testing.TB, v any) (tree any) {
	t.Helper()
	raw, err := json.Marshal(v)
	NoError(t, err)
	NoError(t, json.Unmarshal(raw, &tree))
	return tree
}

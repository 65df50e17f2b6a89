// SPDX-License-Identifier: Apache-2.0

package leftovers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Proves: R21, L-25 (a binding with other subjects stays).
func TestLeftoversAreReportedAndOwnBindingIsRemoved(t *testing.T) {
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "llama-stack-k8s-operator-" + name}
	}
	inside := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "system", Name: "llama-stack-k8s-operator-" + name}
	}
	binding := func(subjects ...string) *rbacv1.ClusterRoleBinding {
		b := &rbacv1.ClusterRoleBinding{ObjectMeta: named("proxy-rolebinding"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "llama-stack-k8s-operator-proxy-role"}}
		for _, name := range subjects {
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "system", Name: name})
		}
		return b
	}
	const own, other = "llama-stack-k8s-operator-controller-manager", "somebody"
	rest := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: named("proxy-role")}, &rbacv1.ClusterRole{ObjectMeta: named("llsd-editor-role")},
		&corev1.ConfigMap{ObjectMeta: inside("manager-config")}, &policyv1.PodDisruptionBudget{ObjectMeta: inside("controller-manager-pdb")},
	}
	names := []string{
		"ClusterRole llama-stack-k8s-operator-proxy-role", "ClusterRole llama-stack-k8s-operator-llsd-editor-role",
		"ConfigMap llama-stack-k8s-operator-manager-config", "PodDisruptionBudget llama-stack-k8s-operator-controller-manager-pdb",
	}
	const bindingName = "ClusterRoleBinding llama-stack-k8s-operator-proxy-rolebinding"
	for name, c := range map[string]struct {
		objects       []client.Object
		removed, left []string
	}{
		"nothing":             {nil, nil, nil},
		"release 0.9":         {append([]client.Object{binding(own)}, rest...), []string{bindingName}, names},
		"bound to others too": {append([]client.Object{binding(own, other)}, rest...), nil, append([]string{bindingName}, names...)},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(c.objects...).Build()
			recorder := events.NewFakeRecorder(1)
			l := &Leftovers{Live: cluster, Client: cluster, Namespace: "system", Recorder: recorder}
			removed, left, err := l.Once(t.Context())
			if err != nil || !cmp.Equal(removed, c.removed) || !cmp.Equal(left, c.left) {
				t.Errorf("removed %v, left %v, %v", removed, left, err)
			}
			gone := cluster.Get(t.Context(), client.ObjectKey{Name: "llama-stack-k8s-operator-proxy-rolebinding"}, &rbacv1.ClusterRoleBinding{}) != nil
			if want := len(c.objects) == 0 || len(c.removed) > 0; gone != want {
				t.Errorf("the binding is gone: %v, want %v", gone, want)
			}
			if err := l.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			event := ""
			select {
			case event = <-recorder.Events:
			default:
			}
			if want := len(left) > 0; want == (event == "") || want && (!strings.Contains(event, strings.Join(left, ", ")) || !strings.Contains(event, Page)) {
				t.Errorf("the Event is %q, left %v", event, left)
			}
		})
	}
}

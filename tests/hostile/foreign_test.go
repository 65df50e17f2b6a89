// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inTheWay is an input whose resource needs an object of a name that someone else has taken. The object must stay as it is.
func inTheWay(name string, foreign func(id string) client.Object) input {
	return input{name: name, want: []string{"Conflict"}, send: func(t *testing.T, w *world) (string, error) {
		id := identifier(name)
		o := foreign(id)
		w.create(t, o)
		before := o.GetResourceVersion()
		said, err := w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter))
		if err == nil {
			err = w.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		}
		if _, moving := o.(*appsv1.Deployment); err == nil && !moving && o.GetResourceVersion() != before {
			err = errors.New("the object of somebody else was changed")
		}
		return said, err
	}}
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }

func foreignInputs() []input {
	return []input{
		inTheWay("Service of somebody else", func(id string) client.Object {
			return &corev1.Service{ObjectMeta: meta(id + "-service"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
		}),
		inTheWay("Service that leads out of the cluster", func(id string) client.Object {
			return &corev1.Service{ObjectMeta: meta(id + "-service"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}}
		}),
		inTheWay("ServiceAccount of somebody else", func(id string) client.Object { return &corev1.ServiceAccount{ObjectMeta: meta(id + "-sa")} }),
		inTheWay("Deployment of somebody else", func(id string) client.Object {
			labels := map[string]string{"app": "theirs"}
			return &appsv1.Deployment{ObjectMeta: meta(id), Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
				},
			}}
		}),
		inTheWay("Service with a 250 KB annotation", func(id string) client.Object {
			s := &corev1.Service{ObjectMeta: meta(id + "-service"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1, TargetPort: intstr.FromInt32(1)}}}}
			s.Annotations = map[string]string{"a": strings.Repeat("a", 250_000)}
			return s
		}),
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	accepted = "DeploymentUpdated=False RolloutInProgress"
	refused  = "ConfigGenerated=False"
)

// inTheWay is an input whose resource needs an object whose name a foreign object has. The foreign object must stay
// unchanged.
func inTheWay(name string, foreign func(id string) client.Object) input {
	return input{name: name, want: []string{"Conflict"}, send: func(t *testing.T, w *world) (string, error) {
		id := identifier(name)
		o := foreign(id)
		w.create(t, o)
		before := o.GetResourceVersion()
		said, err := w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter), "Conflict")
		if err == nil {
			err = w.admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
		}
		if _, moving := o.(*appsv1.Deployment); err == nil && !moving && o.GetResourceVersion() != before {
			err = errors.New("the other owner's object was changed")
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
		bundle("CA bundle with private keys", accepted, certificatesValue(2)),
		bundle("CA bundle of 600 certificates with keys", accepted, certificatesValue(600)),
		bundle("CA bundle of garbage", refused, strings.Repeat("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 10_000)),
		bundle("CA bundle that never ends a block", refused, strings.Repeat("-----BEGIN CERTIFICATE-----\n", 30_000)),
		bundle("CA bundle of 1 MB of base64", refused, "-----BEGIN CERTIFICATE-----\n"+strings.Repeat("QUFB\n", 180_000)+"-----END CERTIFICATE-----\n"),
	}
}

// certificatesValue returns PEM blocks of certificates, each with its private key.
func certificatesValue(n int) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	block = append(block, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	return string(bytes.Repeat(block, n))
}

// bundle is an input with CA certificates. No private key may get into an object that the operator makes.
func bundle(name, want, text string) input {
	return input{name: name, want: []string{want}, send: func(t *testing.T, w *world) (string, error) {
		id := identifier(name)
		w.configMap(t, namespace, id, map[string]string{"ca-bundle.crt": text})
		said, err := w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter+`,"networking":{"tls":{"caBundle":{"configMapName":"`+id+`"}}}`))
		if err != nil {
			return said, err
		}
		return said, w.noneHolds(t.Context(), id, "PRIVATE KEY")
	}}
}

// noneHolds returns an error if a ConfigMap that the operator made for a resource contains a text.
func (w *world) noneHolds(ctx context.Context, id, text string) error {
	var all corev1.ConfigMapList
	if err := w.admin.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range all.Items {
		for key, value := range all.Items[i].Data {
			if name := all.Items[i].Name; name != id && strings.HasPrefix(name, id) && strings.Contains(value, text) {
				return fmt.Errorf("%q stands in ConfigMap %s, key %s", text, name, key)
			}
		}
	}
	return nil
}

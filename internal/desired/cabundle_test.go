// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

func bundleOf(t *testing.T, list []objects.Object) *corev1.ConfigMap {
	t.Helper()
	for _, o := range list {
		if cm, ok := o.(*corev1.ConfigMap); ok && strings.Contains(cm.Name, "-ca-bundle-") {
			return cm
		}
	}
	t.Fatalf("no bundle among %v", kinds(list))
	return nil
}

// Proves: FR-063, R40, L-23 (which key counts; the server is pointed to the certificates; another content is one other pod template).
func TestCABundle(t *testing.T) {
	const other = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n"
	for name, c := range map[string]struct {
		data map[string]string
		keys []string
		want string
	}{
		"ca-bundle.crt before ca.crt": {map[string]string{"ca.crt": other, "ca-bundle.crt": certificate, "x": ""}, nil, certificate},
		"ca.crt":                      {map[string]string{"ca.crt": certificate, "x": ""}, nil, certificate},
		"the only key":                {map[string]string{"corporate.pem": certificate}, nil, certificate},
		"keys from v1alpha1":          {map[string]string{"a": certificate, "b": other, "ca.crt": ""}, []string{"a", "b"}, certificate + other},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "distribution-only")
			trust(in, c.data)
			in.CABundle.Keys = c.keys
			d := build(t, in)
			cm := bundleOf(t, d.Objects)
			if got := cm.Data["ca-bundle.crt"]; got != c.want || cm.Immutable == nil || !*cm.Immutable {
				t.Errorf("the bundle holds %q, want %q, immutable", got, c.want)
			}
			pod := deployment(t, d.Objects).Spec.Template.Spec
			if got := objects.GeneratedFor(in.CR.Name, &pod).CABundle; got != cm.Name {
				t.Errorf("the pods mount %q, want %q", got, cm.Name)
			}
			files := map[string]string{}
			for _, v := range pod.Containers[0].Env {
				files[v.Name] = v.Value
			}
			for _, variable := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"} {
				mounted := false
				for _, m := range pod.Containers[0].VolumeMounts {
					mounted = mounted || m.MountPath+"/ca-bundle.crt" == files[variable] && m.ReadOnly
				}
				if !mounted {
					t.Errorf("%s is %q, which is not mounted", variable, files[variable])
				}
			}
		})
	}
	in := inputs(t, "distribution-only")
	trust(in, map[string]string{"ca.crt": certificate})
	before := build(t, in)
	in.CABundle.Data = map[string]string{"ca.crt": other}
	after := build(t, in)
	if bundleOf(t, before.Objects).Name == bundleOf(t, after.Objects).Name {
		t.Error("other certificates have the same name: nothing would roll out")
	}
	in.CABundle.Unknown = true
	in.HashKey = secret.Value{}
	if got := bundleOf(t, build(t, in).Objects); got.Name != "plain-stack-ca-bundle-<on-cluster>" || got.Data["ca-bundle.crt"] != secret.OnCluster {
		t.Errorf("without a cluster: %s %v", got.Name, got.Data)
	}
}

// Proves: R20, R40, FR-074, FR-075 (each fault names the ConfigMap and heals by itself).
func TestCABundleFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*CABundleFact)
		want   string
	}{
		"no ConfigMap":   {func(f *CABundleFact) { f.Missing = true }, "ConfigMap not found: authorities (namespace ai"},
		"empty":          {func(f *CABundleFact) { f.Data = nil }, "it has no keys"},
		"several keys":   {func(f *CABundleFact) { f.Data = map[string]string{"b": certificate, "a": certificate} }, "its keys are a, b"},
		"no certificate": {func(f *CABundleFact) { f.Data = map[string]string{"ca.crt": "hello"} }, `the key "ca.crt"`},
		"missing key":    {func(f *CABundleFact) { f.Keys = []string{"mine"} }, `no key "mine"`},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "distribution-only")
			trust(in, map[string]string{"ca.crt": certificate})
			c.change(in.CABundle)
			_, faults := fail(t, in)
			if len(faults) != 1 || faults[0].Class != fault.Missing || faults[0].Reason != v1alpha2.ReasonConfigMapNotFound ||
				!strings.Contains(faults.Message(), c.want) || !strings.Contains(faults.Message(), "spec.networking.tls.caBundle") {
				t.Errorf("faults %+v, want %q", faults, c.want)
			}
		})
	}
}

// Proves: R40 (of the platform's ConfigMap all certificates count, in the order of the keys, and nothing else; the pods trust them as release
// 0.9's did, where the custom resource says nothing about a bundle).
func TestPlatformCABundle(t *testing.T) {
	first, second := authority(t), authority(t)
	const key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	fact := PlatformCABundle("ai", map[string]string{
		"odh-ca-bundle.crt": "# a comment\n" + second + key, "ca-bundle.crt": first, "notes": "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n",
	})
	if fact == nil || fact.Name != PlatformBundle || fact.Namespace != "ai" {
		t.Fatalf("found %+v", fact)
	}
	if diff := cmp.Diff(map[string]string{"ca-bundle.crt": first + second}, fact.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	for _, data := range []map[string]string{nil, {"ca-bundle.crt": ""}, {"x": key}} {
		if got := PlatformCABundle("ai", data); got != nil {
			t.Errorf("%v is a bundle: %+v", data, got)
		}
	}

	in := inputs(t, "distribution-only")
	without := inputHash(in)
	in.CABundle = fact
	d := build(t, in)
	if got := bundleOf(t, d.Objects).Data["ca-bundle.crt"]; got != first+second || len(d.Warnings) > 0 {
		t.Errorf("the pods trust %s, warnings %v", got, d.Warnings)
	}
	container := deployment(t, d.Objects).Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: "/etc/ssl/certs/ca-bundle/ca-bundle.crt"}) ||
		!slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/ssl/certs/ca-bundle" && m.ReadOnly }) {
		t.Errorf("environment %v, mounts %v", container.Env, container.VolumeMounts)
	}
	if inputHash(in) == without {
		t.Error("the bundle is no input")
	}
}

// authority makes a certificate, in PEM form.
func authority(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

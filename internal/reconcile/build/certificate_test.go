// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const serviceHost = "plain-stack-service.ai.svc"

// withTLS returns the inputs of a server with TLS and this Secret content.
func withTLS(t *testing.T, data map[string][]byte) *Inputs {
	t.Helper()
	in := inputs(t, "distribution-only")
	in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{Enabled: new(true), SecretName: new("llama-tls")}}
	in.Now = time.Now()
	setCertificate(in, data)
	return in
}

func setCertificate(in *Inputs, data map[string][]byte) {
	in.Certificate = CertificateOf(in.CR)
	in.Certificate.Lookup = LookIn(data, "tls.crt", "tls.key")
	in.Certificate.Certificate, in.Certificate.Key, in.Certificate.CA = data["tls.crt"], secret.New(data["tls.key"]), data["ca.crt"]
}

// Proves: FR-061, FR-062, US-5.3, R39, R26 (mount, probes, Service and URL use TLS; the template has a hash of the
// certificate and nothing of the key).
func TestTLSReachesEveryObject(t *testing.T) {
	ca := framework.NewCA(t)
	data := ca.ServerSecret([]string{serviceHost})
	in := withTLS(t, data)
	d := build(t, in)
	if got := d.Scheme(); got != corev1.URISchemeHTTPS {
		t.Errorf("scheme %s", got)
	}
	for _, line := range []string{"tls_certfile: /etc/llama-stack-tls/tls.crt\n", "tls_keyfile: /etc/llama-stack-tls/tls.key\n"} {
		if !strings.Contains(string(d.Config.YAML), line) {
			t.Errorf("the configuration lacks %q", line)
		}
	}
	if key := string(data["tls.key"]); !secret.NamesWith([]string{key}, d.SecretValues)[key] {
		t.Error("the private key is not among the values that the status hides")
	}
	template := deployment(t, d.Objects).Spec.Template
	volume := template.Spec.Volumes[slices.IndexFunc(template.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil })]
	mount := template.Spec.Containers[0].VolumeMounts[slices.IndexFunc(template.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
		return m.Name == volume.Name
	})]
	if want := (corev1.VolumeMount{Name: volume.Name, MountPath: "/etc/llama-stack-tls", ReadOnly: true}); !cmp.Equal(mount, want) {
		t.Errorf("mount %+v, want %+v", mount, want)
	}
	want := &corev1.SecretVolumeSource{SecretName: "llama-tls", Items: []corev1.KeyToPath{{Key: "tls.crt", Path: "tls.crt"}, {Key: "tls.key", Path: "tls.key"}}}
	if diff := cmp.Diff(want, volume.Secret); diff != "" {
		t.Error(diff)
	}
	if got := template.Annotations[names.AnnotationCertificateHash]; got != names.CertificateHash(data["tls.crt"]) {
		t.Errorf("hash %q", got)
	}
	for name, p := range map[string]*corev1.Probe{
		"startup": template.Spec.Containers[0].StartupProbe, "readiness": template.Spec.Containers[0].ReadinessProbe,
	} {
		if p.HTTPGet == nil || p.HTTPGet.Scheme != corev1.URISchemeHTTPS {
			t.Errorf("the %s probe is %+v", name, p.ProbeHandler)
		}
	}
	made := asJSON(t, d.Objects)
	for line := range strings.SplitSeq(string(data["tls.key"]), "\n") {
		if len(line) > 20 && strings.Contains(made, line) {
			t.Fatal("an object holds a part of the key")
		}
	}
	if c := d.Certificate; c == nil || c.Host != serviceHost || len(c.Leaf) == 0 || !bytes.Equal(c.CA, ca.PEM) {
		t.Errorf("certificate to verify the server with: %+v", c)
	}
}

// Proves: FR-062, R61 (Kubernetes refuses or cannot start a pod with data at or below the certificate directory).
func TestDataPathDiffersFromCertificatePath(t *testing.T) {
	for at, wrong := range map[string]bool{serverconfig.TLSDir: true, serverconfig.TLSDir + "/data": true, serverconfig.TLSDir + "-data": false} {
		in := withTLS(t, framework.NewCA(t).ServerSecret([]string{serviceHost}))
		in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: &v1alpha2.PVCStorageSpec{MountPath: &at}}
		_, faults := buildWith(t.Context(), in)
		if got := faults.Message(); wrong != strings.Contains(got, "spec.workload.storage.mountPath: Invalid value") {
			t.Errorf("%s: %q", at, got)
		}
	}
}

// Proves: FR-062, L-28 (a new CA in the Secret does not roll them, because pods do not read it).
func TestRotatedCertificateRollsThePods(t *testing.T) {
	ca := framework.NewCA(t)
	data := ca.ServerSecret([]string{serviceHost})
	in := withTLS(t, data)
	before := deployment(t, build(t, in).Objects)
	in.Live, in.Build = before, "another"
	if d := build(t, in); d.HeldBuild == "" {
		t.Error("the same certificate rolls the pods when the operator is upgraded")
	}
	data["ca.crt"] = framework.NewCA(t).PEM
	setCertificate(in, data)
	if d := build(t, in); d.HeldBuild == "" {
		t.Error("another CA certificate rolls the pods")
	}
	setCertificate(in, ca.ServerSecret([]string{serviceHost}))
	if after := deployment(t, build(t, in).Objects); cmp.Equal(before.Spec.Template, after.Spec.Template) {
		t.Error("another certificate does not roll the pods")
	}
}

// Proves: FR-062, FR-075, R20, L-23 (each error names the field, the Secret and the fix, and clears without an edit).
func TestCertificateFaults(t *testing.T) {
	ca := framework.NewCA(t)
	good := ca.ServerSecret([]string{serviceHost})
	other := ca.ServerSecret([]string{serviceHost})
	with := func(key string, value []byte) map[string][]byte {
		data := maps.Clone(good)
		data[key] = value
		return data
	}
	without := func(keys ...string) map[string][]byte {
		data := maps.Clone(good)
		maps.DeleteFunc(data, func(key string, _ []byte) bool { return slices.Contains(keys, key) })
		return data
	}
	at := func(before, after time.Duration) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Now().Add(before), time.Now().Add(after) }
	}
	for name, c := range map[string]struct {
		data   map[string][]byte
		reason problem.Reason
		want   string
	}{
		"no Secret":      {nil, problem.SecretNotFound, `Secret not found: llama-tls (namespace ai): create it with the keys "tls.crt", "tls.key"`},
		"no certificate": {without("tls.crt"), problem.SecretNotFound, `Secret llama-tls (namespace ai) has no key "tls.crt": add it; its keys are ca.crt, tls.key`},
		"neither":        {without("tls.crt", "tls.key"), problem.SecretNotFound, `has no keys "tls.crt", "tls.key"`},
		"empty certificate": {with("tls.crt", nil), problem.InvalidSecret,
			`the key "tls.crt" of Secret ai/llama-tls contains no certificate in PEM form: put a certificate and its key into the Secret`},
		"broken certificate": {with("tls.crt", []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")), problem.InvalidSecret, "PEM block 1 is not a certificate"},
		"broken chain": {with("tls.crt", append(slices.Clone(good["tls.crt"]), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...)),
			problem.InvalidSecret, "PEM block 2 is not a certificate"},
		"empty key":      {with("tls.key", nil), problem.InvalidSecret, `the key "tls.key" of Secret ai/llama-tls contains no private key in PEM format`},
		"another's key":  {with("tls.key", other["tls.key"]), problem.InvalidSecret, "contains a private key that does not match the certificate"},
		"swapped":        {map[string][]byte{"tls.crt": good["tls.key"], "tls.key": good["tls.crt"]}, problem.InvalidSecret, "contains no certificate"},
		"unreadable key": {with("tls.key", []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")), problem.InvalidSecret, "contains an invalid private key"},
		"key with a passphrase": {with("tls.key", []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n")),
			problem.InvalidSecret, "contains a private key with a passphrase"},
		"expired":       {ca.ServerSecret([]string{serviceHost}, at(-2*time.Hour, -time.Hour)), problem.InvalidSecret, "expired at " + time.Now().UTC().Format("2006-")},
		"not yet valid": {ca.ServerSecret([]string{serviceHost}, at(time.Hour, 2*time.Hour)), problem.InvalidSecret, "is not valid before "},
		"another host": {ca.ServerSecret([]string{"a.example", "b.example"}), problem.InvalidSecret,
			"its DNS names are a.example, b.example: issue one with the DNS name " + serviceHost},
		"common name only": {ca.ServerSecret(nil), problem.InvalidSecret, "none (the common name is ignored)"},
	} {
		t.Run(name, func(t *testing.T) {
			in := withTLS(t, c.data)
			if c.data == nil {
				in.Certificate.Lookup = Lookup{State: Missing}
			}
			d, faults := fail(t, in)
			if len(faults) != 1 || faults[0].Class != problem.WaitingForDependency || faults[0].Reason != c.reason || faults[0].Path != PathCertificate ||
				!strings.Contains(faults.Message(), c.want) {
				t.Errorf("faults %+v\nwant %s %q", faults, c.reason, c.want)
			}
			// A valid certificate for other hosts is checked again at its expiry.
			if again := slices.Contains([]string{"not yet valid", "another host", "common name only"}, name); again == d.RequeueAt.IsZero() {
				t.Errorf("checked again at %v", d.RequeueAt)
			}
		})
	}
}

// Proves: FR-062 (all names by which a certificate can cover the Service, and its expiry).
func TestCertificateForTheService(t *testing.T) {
	ca := framework.NewCA(t)
	for name, hosts := range map[string][]string{
		"as OpenShift issues it": {serviceHost, serviceHost + ".cluster.local"},
		"wildcard":               {"*.ai.svc"},
	} {
		d := build(t, withTLS(t, ca.ServerSecret(hosts)))
		if len(d.Warnings) > 0 || d.RequeueAt.Before(time.Now()) {
			t.Errorf("%s: %s, checked again at %v", name, d.Warnings.Message(), d.RequeueAt)
		}
	}
	in := withTLS(t, ca.ServerSecret([]string{"llama.example.com"}))
	in.CR.Spec.Networking.Expose = open(`{"hostname":"llama.example.com"}`)
	in.CR.Spec.Auth = &v1alpha2.AuthSpec{Provider: new("kubernetes")}
	d := build(t, in)
	if len(d.Warnings) != 1 || d.Warnings[0].Reason != problem.InvalidSecret || !strings.Contains(d.Warnings.Message(), "clients in the cluster") {
		t.Errorf("a certificate of the exposed hostname: %s", d.Warnings.Message())
	}
}

// Proves: R64, R54 (without the Secret, everything else is checked).
func TestTLSWithoutACluster(t *testing.T) {
	in := withTLS(t, nil)
	in.Certificate.State, in.HashKey = Unknown, secret.Value{}
	d := build(t, in)
	if got := deployment(t, d.Objects).Spec.Template.Annotations[names.AnnotationCertificateHash]; got != secret.OnCluster || d.Certificate != nil {
		t.Errorf("hash %q, certificate %v", got, d.Certificate)
	}
	for name, want := range map[string]string{"": "spec.networking.tls.secretName: Required value", "a/b": "is not a valid name of a Secret"} {
		in.CR.Spec.Networking.TLS.SecretName = new(name)
		if in.Certificate = CertificateOf(in.CR); in.Certificate != nil {
			in.Certificate.State = Unknown
		}
		if _, faults := fail(t, in); !strings.Contains(faults.Message(), want) {
			t.Errorf("secretName %q: %s, want %s", name, faults.Message(), want)
		}
	}
}

// Proves: R39, R15 (scheme and probes follow the TLS files of an unchanged base and of a generated configuration).
func TestTLSOfABaseIsRecognised(t *testing.T) {
	for name, c := range map[string]struct {
		server string
		scheme corev1.URIScheme
		tcp    bool
	}{
		"TLS":                 {"{tls_certfile: /certs/a.crt, tls_keyfile: /certs/a.key}", corev1.URISchemeHTTPS, false},
		"client certificates": {"{tls_certfile: /certs/a.crt, tls_keyfile: /certs/a.key, tls_cafile: /certs/ca.crt}", corev1.URISchemeHTTPS, true},
		"half of it":          {"{tls_certfile: /certs/a.crt}", corev1.URISchemeHTTP, false},
		"unset":               {`{tls_certfile: "${env.CERT:=}", tls_keyfile: "${env.KEY:=}"}`, corev1.URISchemeHTTP, false},
	} {
		for _, generated := range []bool{false, true} {
			in := inputs(t, "distribution-only")
			in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Name: new("ours")}
			resolve(t, in, map[string]string{"distributions": "ours:\n  image: registry.example/ours:1\n  serverVersion: 0.7.3\n  config: |\n    version: 2\n    apis: [inference]\n" +
				"    providers: {inference: []}\n    server: " + c.server + "\n"})
			if generated {
				in.CR.Spec.Disabled = []string{"eval"}
			}
			d := build(t, in)
			if (d.Config != nil) != generated || d.Scheme() != c.scheme || d.Certificate != nil {
				t.Errorf("%s: generated %v, scheme %s", name, d.Config != nil, d.Scheme())
			}
			probe := deployment(t, d.Objects).Spec.Template.Spec.Containers[0].ReadinessProbe
			if (probe.TCPSocket != nil) != c.tcp || !c.tcp && probe.HTTPGet.Scheme != c.scheme {
				t.Errorf("%s, generated %v: probe %+v", name, generated, probe.ProbeHandler)
			}
		}
	}
}

// Proves: R39, R96 (the user's configuration decides whether the mounted certificate is used, and a warning says so).
func TestTLSWithOverrideConfig(t *testing.T) {
	const mounted = "tls_certfile: /etc/llama-stack-tls/tls.crt, tls_keyfile: /etc/llama-stack-tls/tls.key"
	data := framework.NewCA(t).ServerSecret([]string{serviceHost})
	for server, want := range map[string]struct {
		scheme  corev1.URIScheme
		warning string
		known   bool
		refused bool
	}{
		"{" + mounted + "}":                   {corev1.URISchemeHTTPS, "", true, false},
		"{tls_certfile: /a, tls_keyfile: /b}": {corev1.URISchemeHTTPS, "uses other files", false, false},
		"{}":                                  {corev1.URISchemeHTTP, "the server does not encrypt", false, true},
		"{tls_certfile: /etc/llama-stack-tls/tls.crt}": {corev1.URISchemeHTTP, "the server does not encrypt", false, true},
	} {
		in := withTLS(t, data)
		in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "own"}
		findOverride(t, in, complete+"server: "+server+"\n")
		if want.refused {
			if _, faults := fail(t, in); !strings.Contains(faults.Message(), "spec.networking.tls.enabled: Forbidden: ") ||
				!strings.Contains(faults.Message(), want.warning) {
				t.Errorf("%s: %s", server, faults.Message())
			}
			continue
		}
		d := build(t, in)
		if d.Scheme() != want.scheme || (d.Certificate != nil) != want.known || (want.warning == "") != (len(d.Warnings) == 0) ||
			!strings.Contains(d.Warnings.Message(), want.warning) {
			t.Errorf("%s: scheme %s, known %v, warnings %s", server, d.Scheme(), d.Certificate != nil, d.Warnings.Message())
		}
		if got := asJSON(t, deployment(t, d.Objects)); !strings.Contains(got, `"secretName":"llama-tls"`) {
			t.Errorf("%s: the certificate is not mounted", server)
		}
	}
}

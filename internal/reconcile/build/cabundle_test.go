// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const certificate, otherCertificate = framework.CACertificate, framework.OtherCACertificate

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

// Proves: FR-063, R40, R97, L-23 (ca-bundle.crt comes before ca.crt, then the only key, and blank keys do not count).
func TestCABundle(t *testing.T) {
	for name, c := range map[string]struct {
		data map[string]string
		keys []string
		want string
	}{
		"ca-bundle.crt before ca.crt": {map[string]string{"ca.crt": otherCertificate, "ca-bundle.crt": certificate, "x": ""}, nil, certificate},
		"ca.crt":                      {map[string]string{"ca.crt": certificate, "x": ""}, nil, certificate},
		"the only key":                {map[string]string{"corporate.pem": certificate}, nil, certificate},
		"a key named twice":           {map[string]string{"a": certificate}, []string{"a", "a"}, certificate},
		"blank beside filled":         {map[string]string{"ca-bundle.crt": " \n", "ca.crt": certificate}, nil, certificate},
		"blank beside another":        {map[string]string{"ca-bundle.crt": " ", "mine.pem": certificate}, nil, certificate},
		"a blank key of v1alpha1":     {map[string]string{"a": certificate, "b": " "}, []string{"a", "b"}, certificate},
		"keys from v1alpha1":          {map[string]string{"a": certificate, "b": otherCertificate, "ca.crt": ""}, []string{"a", "b"}, certificate + otherCertificate},
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
					mounted = mounted || m.MountPath == path.Dir(files[variable]) && m.ReadOnly
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
	in.CABundle.Data = map[string]string{"ca.crt": otherCertificate}
	after := build(t, in)
	if bundleOf(t, before.Objects).Name == bundleOf(t, after.Objects).Name {
		t.Error("other certificates have the same name: nothing would roll out")
	}
	in.CABundle.State = Unknown
	in.HashKey = secret.Value{}
	if got := bundleOf(t, build(t, in).Objects); got.Name != "plain-stack-ca-bundle-<on-cluster>" || got.Data["ca-bundle.crt"] != secret.OnCluster {
		t.Errorf("without a cluster: %s %v", got.Name, got.Data)
	}
}

// Proves: R20, R40, R97, FR-074, FR-075 (each error names the ConfigMap and clears without an edit).
func TestCABundleFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*CABundleFact)
		want   string
	}{
		"no ConfigMap":               {func(f *CABundleFact) { f.State = Missing }, "ConfigMap not found: trusted-ca (namespace ai"},
		"no ConfigMap, without keys": {func(f *CABundleFact) { f.State = Missing }, `create it with the key "ca-bundle.crt"`},
		"no ConfigMap, with keys": {
			func(f *CABundleFact) { f.State, f.Keys = Missing, []string{"a.crt", "b.crt"} }, `create it with the keys "a.crt", "b.crt"`,
		},
		"empty":          {func(f *CABundleFact) { f.Data = nil }, "it has no keys"},
		"several keys":   {func(f *CABundleFact) { f.Data = map[string]string{"b": certificate, "a": certificate} }, "its keys are a, b"},
		"no certificate": {func(f *CABundleFact) { f.Data = map[string]string{"ca.crt": "hello"} }, `the key "ca.crt"`},
		"missing key":    {func(f *CABundleFact) { f.Keys = []string{"mine"} }, `no key "mine"`},
		"all keys are blank": {
			func(f *CABundleFact) { f.Data = map[string]string{"b": " ", "a": ""} },
			"ConfigMap ai/trusted-ca contains no certificate: blank: a, b: put one there",
		},
		"all named keys are blank": {
			func(f *CABundleFact) { f.Keys, f.Data = []string{"a"}, map[string]string{"a": "\n", "b": certificate} },
			"ConfigMap ai/trusted-ca contains no certificate: blank: a: put one there",
		},
		"the platform's has none": {
			func(f *CABundleFact) {
				f.Name, f.Data = PlatformBundle, map[string]string{"ca-bundle.crt": "", "odh-ca-bundle.crt": " "}
			},
			"ConfigMap ai/odh-trusted-ca-bundle contains no certificate: blank: ca-bundle.crt, odh-ca-bundle.crt: put one there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "distribution-only")
			trust(in, map[string]string{"ca.crt": certificate})
			c.change(in.CABundle)
			_, faults := fail(t, in)
			reason := problem.ConfigMapNotFound
			if strings.Contains(c.want, "no certificate") || name == "no certificate" {
				reason = problem.InvalidConfigMap
			}
			if len(faults) != 1 || faults[0].Class != problem.WaitingForDependency || faults[0].Reason != reason ||
				!strings.Contains(faults.Message(), c.want) || !strings.Contains(faults.Message(), "spec.networking.tls.caBundle") {
				t.Errorf("faults %+v, want %q", faults, c.want)
			}
		})
	}
}

// Proves: R40, R97 (certificates are ordered by key, and other content is dropped; pods use the bundle if the custom
// resource names no other).
func TestPlatformCABundle(t *testing.T) {
	first, second := framework.NewCACertificate(t), framework.NewCACertificate(t)
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
	trust(in, map[string]string{"odh-ca-bundle.crt": second, "ca-bundle.crt": first, "more.crt": " "})
	in.CABundle.Name = PlatformBundle
	if got := bundleOf(t, build(t, in).Objects).Data["ca-bundle.crt"]; got != first+second {
		t.Errorf("named in the spec, the pods trust %s", got)
	}

	in = inputs(t, "distribution-only")
	without := hashOf(in)
	in.CABundle = fact
	d := build(t, in)
	if got := bundleOf(t, d.Objects).Data["ca-bundle.crt"]; got != first+second || len(d.Warnings) > 0 {
		t.Errorf("the pods trust %s, warnings %v", got, d.Warnings)
	}
	container := deployment(t, d.Objects).Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: objects.TrustPath}) ||
		!slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/etc/ssl/certs/ca-bundle" && m.ReadOnly }) {
		t.Errorf("environment %v, mounts %v", container.Env, container.VolumeMounts)
	}
	if hashOf(in) == without {
		t.Error("the bundle is no input")
	}
}

// Proves: R97 (the Service CA is added to other bundles).
func TestServiceCAIsTrusted(t *testing.T) {
	service, mine := framework.NewCACertificate(t), framework.NewCACertificate(t)
	for name, c := range map[string]struct {
		bundle map[string]string
		want   string
	}{
		"alone":               {nil, service},
		"beside a bundle":     {map[string]string{"ca.crt": mine}, mine + service},
		"that the bundle has": {map[string]string{"ca.crt": service + mine}, service + mine},
	} {
		in := inputs(t, "distribution-only")
		without := hashOf(in)
		if c.bundle != nil {
			trust(in, c.bundle)
		}
		in.ServiceCA = service
		d := build(t, in)
		if got := bundleOf(t, d.Objects).Data["ca-bundle.crt"]; got != c.want || hashOf(in) == without {
			t.Errorf("%s: the pods trust %s", name, got)
		}
	}
	in := inputs(t, "distribution-only")
	in.ServiceCA = service
	if got := in.variables(); !slices.Contains(got, "SSL_CERT_FILE") {
		t.Errorf("the engine does not know the variables of the bundle: %v", got)
	}
}

// key is a private key, which must never be copied into a bundle.
const key = "-----BEGIN EC PRIVATE KEY-----\nY2FuYXJ5\n-----END EC PRIVATE KEY-----\n"

// trusted returns a certificate with OpenSSL's trust settings.
func trusted(t *testing.T) string {
	t.Helper()
	block, _ := pem.Decode([]byte(certificate))
	notes := []byte{0x30, 0x0c, 0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01} // serverAuth
	return string(pem.EncodeToMemory(&pem.Block{Type: "TRUSTED CERTIFICATE", Bytes: append(block.Bytes, notes...)}))
}

// Proves: R65, R66.
func TestCABundleHoldsOnlyCertificates(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		warns      bool
	}{
		"text around":     {"Subject: CN=a\n" + certificate + "\n# the other\n" + otherCertificate + "canary\n", certificate + otherCertificate, false},
		"an empty line":   {"\n" + certificate, certificate, false},
		"private key":     {key + certificate, certificate, true},
		"key at the end":  {certificate + key, certificate, true},
		"headers":         {strings.Replace(certificate, "-----\n", "-----\nComment: canary\n\n", 1), certificate, false},
		"revocation list": {"-----BEGIN X509 CRL-----\nY2FuYXJ5\n-----END X509 CRL-----\n" + certificate, certificate, false},
		"broken key":      {"-----BEGIN PRIVATE KEY-----\ncanary\n" + certificate, certificate, true},
		"Windows":         {strings.ReplaceAll(certificate, "\n", "\r\n"), certificate, false},
		"OpenSSL's form":  {trusted(t), trusted(t), false},
	} {
		in := inputs(t, "distribution-only")
		trust(in, map[string]string{"ca.crt": c.text})
		d := build(t, in)
		if got := bundleOf(t, d.Objects).Data["ca-bundle.crt"]; got != c.want {
			t.Errorf("%s: the bundle holds\n%s", name, got)
		}
		warned := false
		for _, w := range d.Warnings {
			warned = warned || strings.Contains(w.String(), "private key, which is not copied")
		}
		if warned != c.warns {
			t.Errorf("%s: warnings %v", name, d.Warnings)
		}
	}
}

// Proves: R66 (a broken certificate is named by its number and not quoted).
func TestCABundleNamesBrokenCertificates(t *testing.T) {
	broken := func(inner string) string {
		return "-----BEGIN CERTIFICATE-----\n" + inner + "\n-----END CERTIFICATE-----\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"not DER":         {certificate + broken("Y2FuYXJ5"), "PEM block 2 is not a certificate: "},
		"not base64":      {certificate + key + broken("!canary!") + otherCertificate, "PEM block 3 is broken: "},
		"no end":          {strings.Replace(certificate, "-----END CERTIFICATE-----", "", 1) + otherCertificate, "PEM block 1 is broken: "},
		"a part":          {certificate[:200], "PEM block 1 is broken: "},
		"OpenSSL's form":  {"-----BEGIN TRUSTED CERTIFICATE-----\nY2FuYXJ5\n-----END TRUSTED CERTIFICATE-----\n", "PEM block 1 is not a certificate: "},
		"more than a DER": {broken(base64.StdEncoding.EncodeToString(append(der(t), 0))), "PEM block 1 is not a certificate: "},
	} {
		in := inputs(t, "distribution-only")
		trust(in, map[string]string{"ca.crt": c.text})
		_, faults := fail(t, in)
		if message := faults.Message(); len(faults) != 1 || faults[0].Class != problem.WaitingForDependency || strings.Contains(message, "canary") ||
			!strings.Contains(message, `spec.networking.tls.caBundle.configMapName: Invalid value: "trusted-ca": the key "ca.crt" of ConfigMap ai/trusted-ca: `+c.want) {
			t.Errorf("%s: %s", name, message)
		}
	}
}

func der(t *testing.T) []byte {
	t.Helper()
	block, _ := pem.Decode([]byte(certificate))
	return block.Bytes
}

// Proves: R63.
func TestCABundleNamesFewKeys(t *testing.T) {
	in := inputs(t, "distribution-only")
	data := map[string]string{}
	for i := range 5_000 {
		data[fmt.Sprintf("key-%04d", i)] = certificate
	}
	trust(in, data)
	if _, faults := fail(t, in); !strings.HasSuffix(faults.Message(), "key-0019 and 4980 more") {
		t.Errorf("%.2000s", faults.Message())
	}
}

// Proves: R65 (the message names a fix, and the error clears without an edit).
func TestForeignConfigMapsNeedConsent(t *testing.T) {
	in := inputs(t, "distribution-only")
	in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	in.Override = &OverrideFact{Ref: types.NamespacedName{Namespace: "platform", Name: "mine"}, Lookup: Lookup{State: NotAllowed}}
	trust(in, nil)
	in.CABundle.Namespace, in.CABundle.State = "platform", NotAllowed
	_, faults := fail(t, in)
	for _, want := range []string{
		"spec.overrideConfig.configMapName: Forbidden: ConfigMap mine in namespace platform does not exist, or does not allow namespace ai to use it: " +
			"annotate it with llamastack.io/allow-from: ai, or copy it to namespace ai",
		"spec.networking.tls.caBundle.configMapName: Forbidden: ConfigMap trusted-ca in namespace platform does not exist, or",
	} {
		if !strings.Contains(faults.Message(), want) {
			t.Errorf("%q is not in %q", want, faults.Message())
		}
	}
	for _, f := range faults {
		if f.Class != problem.WaitingForDependency || f.Reason != problem.ConfigMapNotFound || f.Condition != v1alpha2.ConditionConfigGenerated {
			t.Errorf("fault %+v", f)
		}
	}
	for annotation, want := range map[string]bool{
		"": false, "ai": true, "*": true, "team-a, ai": true, "team-a,ai": true, " ai ": true, "*-ai": false, "AI": false, "ai-2": false, "team-a;ai": false,
	} {
		if got := Allows(map[string]string{v1alpha2.AllowFromAnnotation: annotation}, "ai"); got != want {
			t.Errorf("%q allows namespace ai: %v", annotation, got)
		}
	}
	if Allows(nil, "ai") || Allows(map[string]string{v1alpha2.AllowFromAnnotation: ""}, "") {
		t.Error("no annotation allows a namespace")
	}
}

// Proves: R105 (several keys of several ConfigMaps are trusted together, and a problem has the path of its entry).
func TestSeveralCABundles(t *testing.T) {
	one, two, three := certificate, otherCertificate, framework.NewCACertificate(t)
	for name, c := range map[string]struct {
		data  map[string]map[string]string
		keys  []string
		state State
		want  string
	}{
		"all":           {map[string]map[string]string{"a": {"ca.crt": one}, "b": {"x.pem": two, "y.pem": three, "z.pem": "-"}}, []string{"x.pem", "y.pem"}, Found, ""},
		"a missing key": {map[string]map[string]string{"a": {"ca.crt": one}, "b": {"x.pem": two}}, []string{"x.pem", "y.pem"}, Found, "spec.networking.tls.caBundles[0].configMapName: "},
		"no ConfigMap":  {map[string]map[string]string{"a": {"ca.crt": one}}, nil, Missing, "spec.networking.tls.caBundles[0].configMapName: ConfigMap not found: b"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{
				CABundle:  &v1alpha2.CABundleConfig{ConfigMapName: "a"},
				CABundles: []v1alpha2.CABundleKeys{{ConfigMapName: "b", Keys: c.keys}},
			}}
			in.CABundle, in.CABundles = in.NamedCABundle(), in.NamedCABundles()
			in.CABundle.Data, in.CABundles[0].Data, in.CABundles[0].State = c.data["a"], c.data["b"], c.state
			d, faults := buildWith(t.Context(), in)
			if got := faults.Message(); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Fatalf("faults %q, want %q", got, c.want)
			}
			if c.want != "" {
				return
			}
			if cm := bundleOf(t, d.Objects); cm == nil || strings.Count(cm.Data["ca-bundle.crt"], "BEGIN CERTIFICATE") != 3 {
				t.Errorf("not three certificates in %+v", cm)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

func tlsSpec() *v1alpha2.LlamaStackDistributionSpec {
	return &v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{Enabled: new(true), SecretName: new("s")}}}
}

func edit(t *testing.T, text string) *document.Document {
	t.Helper()
	base, err := document.ParseBase("base", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return base.Edit()
}

// Proves: FR-061, R25 (the error names the release line).
func TestTLSOfALineWithoutItIsRefused(t *testing.T) {
	var problems problem.Collector
	doc := edit(t, "version: 2\n")
	Apply(doc, &catalog.Line{Name: "0.1"}, tlsSpec(), &problems)
	list := problems.List()
	if len(list) != 1 || list[0].Reason != problem.UnsupportedByRelease || list[0].Path != "spec.networking.tls.enabled" || !strings.Contains(list[0].String(), "release line 0.1") {
		t.Errorf("problems %+v", list)
	}
	if ReadTLS(doc.Root()).Enabled() {
		t.Error("the configuration has TLS files")
	}
}

// Proves: FR-061, R26, R39 (all release lines read the files; server.insecure is set only if needed without them).
func TestTLSOfEveryLine(t *testing.T) {
	for _, name := range catalog.Lines() {
		line, known := catalog.Get(name)
		if !known {
			t.Fatal(name)
		}
		for base, c := range map[string]struct {
			spec *v1alpha2.LlamaStackDistributionSpec
			tls  TLS
		}{
			"version: 2\nserver: {port: 8321, insecure: true}\n":                      {tlsSpec(), TLS{CertificateFile: TLSCertFile, KeyFile: TLSKeyFile}},
			"version: 2\nserver: {port: 8321}\n":                                      {&v1alpha2.LlamaStackDistributionSpec{}, TLS{}},
			"version: 2\nserver: {tls_certfile: /a}\n":                                {&v1alpha2.LlamaStackDistributionSpec{}, TLS{CertificateFile: "/a"}},
			"version: 2\nserver: {tls_certfile: /a, tls_keyfile: /b}\n":               {&v1alpha2.LlamaStackDistributionSpec{}, TLS{CertificateFile: "/a", KeyFile: "/b"}},
			"version: 2\nserver: {tls_certfile: /a, tls_keyfile: /b, tls_cafile: /c}": {tlsSpec(), TLS{CertificateFile: TLSCertFile, KeyFile: TLSKeyFile, ClientCAFile: "/c"}},
		} {
			var problems problem.Collector
			doc := edit(t, base)
			Apply(doc, line, c.spec, &problems)
			if problems.HasErrors() {
				t.Errorf("%s: %s", name, problems.List().Message())
			}
			got := ReadTLS(doc.Root())
			if got != c.tls {
				t.Errorf("%s, %q: %+v, want %+v", name, base, got, c.tls)
			}
			if insecure := document.Child(doc.Section("server"), "insecure") != nil; insecure != (line.NeedsInsecure && !got.Enabled()) {
				t.Errorf("%s, %q: insecure %v", name, base, insecure)
			}
		}
	}
}

// Proves: FR-061 (TLS and client certificates need both files; only the operator's files are mounted).
func TestTLSRequiresBothFiles(t *testing.T) {
	for _, c := range []struct {
		tls                       TLS
		enabled, clients, mounted bool
	}{
		{TLS{}, false, false, false},
		{TLS{CertificateFile: "/a", ClientCAFile: "/c"}, false, false, false},
		{TLS{KeyFile: "/b", ClientCAFile: "/c"}, false, false, false},
		{TLS{CertificateFile: "/a", KeyFile: "/b"}, true, false, false},
		{TLS{CertificateFile: "/a", KeyFile: "/b", ClientCAFile: "/c"}, true, true, false},
		{TLS{CertificateFile: TLSCertFile, KeyFile: "/b"}, true, false, false},
		{TLS{CertificateFile: "/a", KeyFile: TLSKeyFile}, true, false, false},
		{TLS{CertificateFile: TLSCertFile, KeyFile: TLSKeyFile}, true, false, true},
	} {
		if got := c.tls.Enabled(); got != c.enabled {
			t.Errorf("%+v: enabled %v", c.tls, got)
		}
		if got := c.tls.ClientCertificates(); got != c.clients {
			t.Errorf("%+v: client certificates %v", c.tls, got)
		}
		if got := c.tls.Mounted(); got != c.mounted {
			t.Errorf("%+v: mounted %v", c.tls, got)
		}
	}
}

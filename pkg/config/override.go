// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/release"
)

// Override is what the operator has to know of a config.yaml that the user gives whole. The file itself is never changed.
type Override struct {
	// Version is the schema version that the file names; 0 where it names none that is a number.
	Version int32
	// TLS reports that the server will speak HTTPS: the file names a certificate and a key.
	TLS bool
	// ClientCertificates reports that the server will refuse anyone who has no certificate: the file names an authority for those.
	ClientCertificates bool
	// Insecure reports that the file lets the server start without TLS.
	Insecure bool
	// Workers is the number of processes that the file asks for, as it is written; empty where it does not say.
	Workers string
}

// ReadOverride reads a config.yaml of the user's own. The error reports why the server could not read it.
func ReadOverride(data []byte) (*Override, error) {
	root, err := document.Read(data)
	if err != nil {
		return nil, err
	}
	o := &Override{}
	switch document.Text(document.Child(root, "version")) {
	case "1":
		o.Version = release.PreviousVersion
	case "2":
		o.Version = release.CurrentVersion
	}
	server := document.Child(root, "server")
	given := func(key string) bool {
		value := document.Text(document.Child(server, key))
		unsetByDefault := strings.HasPrefix(value, "${env.") && strings.HasSuffix(value, ":=}")
		return value != "" && value != "null" && value != "~" && !unsetByDefault
	}
	o.TLS = given("tls_certfile") && given("tls_keyfile")
	o.ClientCertificates = o.TLS && given("tls_cafile")
	if given("workers") {
		o.Workers = document.Text(document.Child(server, "workers"))
	}
	o.Insecure = strings.EqualFold(document.Text(document.Child(server, "insecure")), "true")
	return o, nil
}

// Excluded returns the paths of the fields that the spec sets although spec.overrideConfig, which it sets too, excludes them.
func Excluded(s *v1alpha2.LlamaStackDistributionSpec) []string {
	if s.OverrideConfig == nil {
		return nil
	}
	var paths []string
	for _, field := range []struct {
		path string
		set  bool
	}{
		{"spec.providers", s.Providers != nil && *s.Providers != v1alpha2.ProvidersSpec{}},
		{"spec.resources", s.Resources != nil && len(s.Resources.Models)+len(s.Resources.Tools)+len(s.Resources.Shields) > 0},
		{"spec.storage", s.Storage != nil && (s.Storage.KV != nil || s.Storage.SQL != nil)},
		{"spec.disabled", len(s.Disabled) > 0},
		{"spec.externalProviders", jsonFilled(s.ExternalProviders)},
	} {
		if field.set {
			paths = append(paths, field.path)
		}
	}
	return paths
}

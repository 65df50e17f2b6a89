// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// The config fields of the connection to the backend: network.tls, and before it vLLM's own field.
const (
	fieldNetwork    = "network"
	fieldTLS        = "tls"
	fieldVerify     = "verify"
	fieldCert       = "client_cert"
	fieldKey        = "client_key"
	fieldVerifyVLLM = "tls_verify"
)

// CAFile returns the file with the CA certificates of a provider in the server's container.
func CAFile(t *parse.ProviderTLS) string {
	return path.Join(names.ProviderTLSDir, CAFileName(t.CABundle, t.CAKey))
}

// CAFileName returns the name of a key of a ConfigMap below names.ProviderTLSDir.
func CAFileName(configMap, key string) string { return path.Join("ca", configMap, key) }

// ClientFileName returns the name of a key of a Secret below names.ProviderTLSDir.
func ClientFileName(secret, key string) string { return path.Join("client", secret, key) }

// tlsFields returns the fields of network.tls of a provider type, or nil.
func tlsFields(line *catalog.Line, row *catalog.Provider) map[string]catalog.Field {
	network := line.Objects[row.Fields[fieldNetwork].Object]
	return line.Objects[network[fieldTLS].Object]
}

// hasVerifyFile reports whether a field takes the name of a file with CA certificates.
func hasVerifyFile(f catalog.Field) bool { return slices.Contains(f.AnyOf, catalog.TypeString) }

// mergeTLS puts the files of spec.providers.*.tls into the settings, and reports what the provider type does not have.
func (p *Provider) mergeTLS(problems *problem.Collector) {
	t := p.spec.TLS
	if t == nil {
		return
	}
	if p.row == nil {
		problems.Add(problem.Problem{
			Reason: problem.UnknownField, Path: t.Path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("has unknown config fields in the unknown provider type %s", p.name),
			Fix: "mount the files with spec.workload.overrides.volumes, and name them in the provider's own fields under " +
				"settings",
		})
		return
	}
	known := tlsFields(p.line, p.row)
	merged := map[string]any{}
	if t.ClientCertificate != "" {
		if !p.hasTLS(t.ClientCertificatePath(), func(line *catalog.Line, row *catalog.Provider) bool {
			_, has := tlsFields(line, row)[fieldCert]
			return has
		}, problems) {
			return
		}
		merged[fieldCert] = path.Join(names.ProviderTLSDir, ClientFileName(t.ClientCertificate, corev1.TLSCertKey))
		merged[fieldKey] = path.Join(names.ProviderTLSDir, ClientFileName(t.ClientCertificate, corev1.TLSPrivateKeyKey))
	}
	if t.CABundle != "" {
		if !p.hasTLS(t.CAPath(), func(line *catalog.Line, row *catalog.Provider) bool {
			return hasVerifyFile(tlsFields(line, row)[fieldVerify]) || hasVerifyFile(row.Fields[fieldVerifyVLLM])
		}, problems) {
			return
		}
		if !hasVerifyFile(known[fieldVerify]) {
			p.mergeVerify(t, problems)
			return
		}
		merged[fieldVerify] = CAFile(t)
	}
	p.mergeNetwork(merged, problems)
}

// mergeVerify sets vLLM's own field for a file of CA certificates.
func (p *Provider) mergeVerify(t *parse.ProviderTLS, problems *problem.Collector) {
	settings := maps.Clone(p.spec.Settings)
	if _, given := settings[fieldVerifyVLLM]; given {
		reportConflict(p.name, fieldVerifyVLLM, p.settingsPath(fieldVerifyVLLM), t.CAPath(), problems)
		return
	}
	if settings == nil {
		settings = map[string]any{}
	}
	settings[fieldVerifyVLLM] = CAFile(t)
	p.withSettings(settings)
}

// mergeNetwork merges files into settings.network.tls. A field of the wrong type is reported by the check of settings.
func (p *Provider) mergeNetwork(files map[string]any, problems *problem.Collector) {
	inner := func(of map[string]any, name string) (map[string]any, bool) {
		value, given := of[name]
		object, isObject := value.(map[string]any)
		if object == nil {
			object = map[string]any{}
		}
		return maps.Clone(object), !given || value == nil || isObject
	}
	settings := maps.Clone(p.spec.Settings)
	if settings == nil {
		settings = map[string]any{}
	}
	network, isNetwork := inner(settings, fieldNetwork)
	tls, isTLS := inner(network, fieldTLS)
	if !isNetwork || !isTLS {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if _, given := tls[name]; given {
			at := fieldNetwork + "." + fieldTLS + "." + name
			reportConflict(p.name, at, p.settingsPath(at), p.spec.TLS.Path, problems)
			return
		}
		tls[name] = files[name]
	}
	network[fieldTLS], settings[fieldNetwork] = tls, network
	p.withSettings(settings)
}

func (p *Provider) settingsPath(name string) string {
	return p.spec.Path + "." + p.spec.SettingsField + "." + name
}

func (p *Provider) withSettings(settings map[string]any) {
	spec := *p.spec
	spec.Settings = settings
	p.spec = &spec
}

// hasTLS reports a field that the provider type does not have on the release line, with the lines that have it.
func (p *Provider) hasTLS(at string, has func(*catalog.Line, *catalog.Provider) bool,
	problems *problem.Collector) bool {
	if has(p.line, p.row) {
		return true
	}
	problems.Add(problem.Problem{
		Reason: problem.UnknownField, Path: at, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("%s has no field for it on release line %s", p.name, p.line.Name),
		Fix: "remove it" + release.OtherLines(func(line *catalog.Line) bool {
			row, known := line.Provider(p.api, p.name)
			return known && has(line, row)
		}),
	})
	return false
}

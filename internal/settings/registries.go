// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	reference "github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// KeyRegistries is the key of a YAML Registries.
const KeyRegistries = "registries"

// Registries configures image mirrors and access to registries. The zero value is the default.
type Registries struct {
	// ReadLabels enables reading image labels; nil means true.
	ReadLabels *bool `json:"readLabels,omitempty"`
	// Mirrors rewrite images for pods and the operator.
	Mirrors Mirrors `json:"mirrors,omitempty"`
	// Allowed are the registries that may be accessed, as host or host:port; empty means all.
	Allowed []string `json:"allowed,omitempty"`
	// PlainHTTP are the registries to access without TLS.
	PlainHTTP []string `json:"plainHTTP,omitempty"`
	// CACertificates are PEM certificates trusted in addition to the system's.
	CACertificates string `json:"caCertificates,omitempty"`
	// Cluster are the mirrors of the cluster, which are not part of the setting.
	Cluster ClusterMirrors `json:"-"`
	// Proxy is that of KeyProxy; may be nil.
	Proxy *v1alpha2.ProxySpec `json:"-"`
}

// ReadsLabels reports whether the operator reads image labels.
func (r *Registries) ReadsLabels() bool { return ptr.Deref(r.ReadLabels, true) }

// Locations returns the references to try for an image, in order.
func (r *Registries) Locations(image string) []string {
	if r == nil {
		return []string{image}
	}
	return r.Cluster.Locations(image)
}

// Hosts returns the registries in the setting; these may have any address.
func (r *Registries) Hosts() []string {
	hosts := slices.Concat(r.Allowed, r.PlainHTTP)
	for _, m := range r.Mirrors {
		host, _, _ := strings.Cut(m.Location, "/")
		hosts = append(hosts, host)
	}
	return hosts
}

// Pool returns the system's certificates plus CACertificates.
func (r *Registries) Pool(system *x509.CertPool) *x509.CertPool {
	if r.CACertificates == "" {
		return system
	}
	pool := system.Clone()
	pool.AppendCertsFromPEM([]byte(r.CACertificates))
	return pool
}

func parseRegistries(text string) (Registries, error) {
	var r Registries
	err := decode([]byte(text), &r)
	if err == nil {
		err = r.validate().ToAggregate()
	}
	if err != nil {
		return Registries{}, fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, KeyRegistries, err)
	}
	return r, nil
}

func (r *Registries) validate() field.ErrorList {
	var errs field.ErrorList
	for i := range r.Mirrors {
		path := field.NewPath("mirrors").Index(i)
		errs = append(errs, checkLocation(path.Child("prefix"), r.Mirrors[i].Prefix)...)
		errs = append(errs, checkLocation(path.Child("location"), r.Mirrors[i].Location)...)
	}
	for key, hosts := range map[string][]string{"allowed": r.Allowed, "plainHTTP": r.PlainHTTP} {
		for i, host := range hosts {
			if strings.Contains(host, "*") {
				errs = append(errs, field.Invalid(field.NewPath(key).Index(i), limits.Message(host),
					"wildcards are not supported: list each registry, such as registry.example.com"))
			} else if parsed, err := reference.NewRegistry(host, reference.StrictValidation); err != nil ||
				parsed.RegistryStr() != host && host != dockerHub {
				errs = append(errs, field.Invalid(field.NewPath(key).Index(i), limits.Message(host),
					"must be a registry, such as registry.example.com or registry.example.com:5000"))
			}
		}
	}
	if r.CACertificates != "" {
		if err := checkCertificates(r.CACertificates); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("caCertificates"), field.OmitValueType{}, err.Error()))
		}
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs
}

// checkLocation requires a registry, because "llamastack" alone would mean docker.io/llamastack.
func checkLocation(path *field.Path, text string) field.ErrorList {
	_, err := reference.NewRepository(strings.TrimSuffix(text, "/")+"/x/y", reference.StrictValidation)
	if err != nil || strings.Contains(text, "//") {
		return field.ErrorList{field.Invalid(path, limits.Message(text),
			"must be a registry, or a registry and the first parts of a repository, such as docker.io/llamastack")}
	}
	return nil
}

// checkCertificates validates PEM certificates. Its errors do not quote the text, which may hold a private key.
func checkCertificates(text string) error {
	rest := []byte(text)
	for number := 1; ; number++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		switch {
		case block == nil && number == 1:
			return errors.New("must be certificates in PEM, which begin with -----BEGIN CERTIFICATE-----")
		case block == nil:
			return nil
		case block.Type != "CERTIFICATE":
			return fmt.Errorf("PEM block %d is not a certificate", number)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("PEM block %d is not a certificate: %w", number, err)
		}
	}
}

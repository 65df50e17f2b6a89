// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// PathCABundle is the field that names the CA bundle.
const PathCABundle = "spec.networking.tls.caBundle"

// CABundleFact is the result of reading spec.networking.tls.caBundle, or that of a database.
type CABundleFact struct {
	Namespace, Name string
	// Keys are the keys to use, all of them; empty means that the operator chooses.
	Keys   []string
	Lookup `                  json:"-"`
	Data   map[string]string
	// Path is the field if it is not PathCABundle.
	Path string `json:"-"`
}

// NamedCABundles returns the further CA bundles that the resource names.
func (in *Inputs) NamedCABundles() []CABundleFact {
	n := in.CR.Spec.Networking
	if n == nil || n.TLS == nil {
		return nil
	}
	var list []CABundleFact
	for i := range n.TLS.CABundles {
		b := &n.TLS.CABundles[i]
		list = append(list, CABundleFact{Namespace: in.CR.Namespace, Name: b.ConfigMapName, Keys: b.Keys,
			Path: fmt.Sprintf("spec.networking.tls.caBundles[%d]", i)})
	}
	return list
}

// AllCABundles returns the further CA bundles that the resource names, and those of its databases.
func (in *Inputs) AllCABundles() []CABundleFact {
	return append(in.NamedCABundles(), in.databaseCABundles()...)
}

// databaseCABundles returns the CA bundles that the databases of spec.storage name.
func (in *Inputs) databaseCABundles() []CABundleFact {
	var list []CABundleFact
	backends := storage.Backends(in.CR.Spec.Storage)
	for i := range backends {
		if bundle := backends[i].CABundle; bundle != nil {
			list = append(list, CABundleFact{Namespace: in.CR.Namespace, Name: bundle.ConfigMapName,
				Path: backends[i].Path + ".caBundle"})
		}
	}
	return list
}

// trustsBundle reports whether the server trusts a CA bundle of the resource or the platform.
func (in *Inputs) trustsBundle() bool { return in.CABundle != nil || len(in.CABundles) > 0 }

// NamedCABundle returns the CA bundle that the resource names, also in v1alpha1's forms, or nil.
func (in *Inputs) NamedCABundle() *CABundleFact {
	n := in.CR.Spec.Networking
	if n == nil || n.TLS == nil || n.TLS.CABundle == nil {
		return nil
	}
	return &CABundleFact{
		Namespace: cmp.Or(in.Legacy.CABundleNamespace, in.CR.Namespace), Name: n.TLS.CABundle.ConfigMapName,
		Keys: in.Legacy.CABundleKeys,
	}
}

// ConfigMaps that platforms inject into namespaces.
const (
	// PlatformBundle is Open Data Hub's; as in release 0.9, it applies if the custom resource names no bundle.
	PlatformBundle = "odh-trusted-ca-bundle"
	// ServiceBundle is OpenShift's, with the CA of Service certificates; it is added to any other bundle.
	ServiceBundle = "openshift-service-ca.crt"
)

// PlatformCABundle returns the certificates of PlatformBundle, or nil. It ignores other content, which users cannot
// fix.
func PlatformCABundle(namespace string, data map[string]string) *CABundleFact {
	bundle := CertificatesIn(data)
	if bundle == "" {
		return nil
	}
	return &CABundleFact{Namespace: namespace, Name: PlatformBundle, Data: map[string]string{bundleKeys[0]: bundle}}
}

// CertificatesIn returns the certificates of all keys as PEM, in the order of the keys, without other content.
func CertificatesIn(data map[string]string) string {
	var bundle bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for rest := []byte(data[key]); ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if _, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == certificateBlock {
				_ = pem.Encode(&bundle, &pem.Block{Type: certificateBlock, Bytes: block.Bytes}) // writes to a buffer do not fail
			}
		}
	}
	return bundle.String()
}

const certificateBlock = "CERTIFICATE"

// bundleKeys are the default keys of a bundle, in order of preference.
var bundleKeys = []string{"ca-bundle.crt", "ca.crt"}

func withServiceCA(bundle, service string) string {
	if bundle == secret.OnCluster || strings.Contains(bundle, service) {
		return bundle
	}
	return bundle + service
}

// caBundle returns the certificates of the bundles that the custom resource names, or of the platform's.
func (d *Desired) caBundle(in *Inputs) string {
	var bundle strings.Builder
	unknown := false
	read := func(f *CABundleFact) {
		if unknown = unknown || f.State == Unknown; !unknown {
			bundle.WriteString(d.certificatesOf(in, f))
		}
	}
	if in.CABundle != nil {
		read(in.CABundle)
	}
	for i := range in.CABundles {
		read(&in.CABundles[i])
	}
	if unknown {
		return secret.OnCluster
	}
	return bundle.String()
}

// certificatesOf returns the certificates of a bundle, or reports why it cannot be used.
func (d *Desired) certificatesOf(in *Inputs, f *CABundleFact) string {
	if p := f.absent(f.requiredReference(), in.CR.Namespace, ""); p != nil {
		d.problems.AddFound(p)
		return ""
	}
	if all := CertificatesIn(f.Data); all != "" && f.Name == PlatformBundle && len(f.Keys) == 0 {
		return all
	}
	chosen, p := f.keys()
	if p != nil {
		d.problems.AddFound(p)
		return ""
	}
	var bundle strings.Builder
	for _, key := range chosen {
		found, err := readPEM(f.Data[key])
		location := fmt.Sprintf("the key %q of ConfigMap %s/%s", key, f.Namespace, f.Name)
		switch {
		case err != nil:
			d.problems.Add(f.invalid(fmt.Sprintf("%s: %v", location, err), "correct or remove it there"))
			return ""
		case found.certificates == "":
			d.problems.Add(
				f.invalid(location+" contains no certificate", "put one there in PEM form (-----BEGIN CERTIFICATE-----)"),
			)
			return ""
		}
		if found.privateKey {
			d.problems.warn(problem.InvalidConfigMap, f.path(), location+" contains a private key, which is not copied",
				"move private keys to a Secret: everyone who can read ConfigMaps can read them")
		}
		bundle.WriteString(found.certificates)
	}
	return bundle.String()
}

func (f *CABundleFact) path() string { return cmp.Or(f.Path, PathCABundle) }

func (f *CABundleFact) invalid(detail, fix string) problem.Problem {
	return problem.Problem{
		Reason: problem.InvalidConfigMap, Path: f.path() + ".configMapName", Type: field.ErrorTypeInvalid, Value: f.Name,
		Detail: detail, Fix: fix,
	}
}

func (f *CABundleFact) keys() ([]string, *problem.Problem) {
	candidates := unique(f.Keys)
	if len(candidates) == 0 {
		candidates = slices.Sorted(maps.Keys(f.Data))
	}
	if len(f.Keys) > 0 {
		found := LookIn(f.Data, f.Keys...)
		if p := found.absent(f.requiredReference(), "", ""); p != nil {
			return nil, p
		}
	}
	nonBlank := slices.DeleteFunc(slices.Clone(candidates), func(key string) bool {
		return strings.TrimSpace(f.Data[key]) == ""
	})
	switch {
	case len(nonBlank) == 0 && len(candidates) > 0:
		return nil, problem.New(f.invalid(
			fmt.Sprintf("ConfigMap %s/%s contains no certificate: blank: %s", f.Namespace, f.Name, limits.Names(candidates)),
			"put one there in PEM form (-----BEGIN CERTIFICATE-----)"))
	case len(f.Keys) > 0, len(nonBlank) == 1:
		return nonBlank, nil
	}
	for _, key := range bundleKeys {
		if slices.Contains(nonBlank, key) {
			return []string{key}, nil
		}
	}
	lookup := Lookup{ExistingKeys: candidates}
	return nil, problem.New(problem.Problem{
		Reason: problem.ConfigMapNotFound, Path: f.path() + ".configMapName",
		Detail: fmt.Sprintf("ConfigMap %s (namespace %s) has neither the key %s nor only one key", f.Name, f.Namespace,
			strings.Join(bundleKeys, " nor ")),
		Fix: "add one of them" + lookup.existing(),
	})
}

func (f *CABundleFact) reference() objects.Reference {
	return objects.Reference{Kind: objects.KindConfigMap, Namespace: f.Namespace, Name: f.Name, Keys: f.Keys,
		Path: f.path() + ".configMapName"}
}

// requiredReference returns the reference, with the default key if the spec names none.
func (f *CABundleFact) requiredReference() *objects.Reference {
	ref := f.reference()
	if len(ref.Keys) == 0 {
		ref.Keys = bundleKeys[:1]
	}
	return &ref
}

func unique(names []string) []string {
	var distinct []string
	for _, name := range names {
		if !slices.Contains(distinct, name) {
			distinct = append(distinct, name)
		}
	}
	return distinct
}

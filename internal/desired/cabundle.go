// SPDX-License-Identifier: Apache-2.0

package desired

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

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// PathCABundle is the field that names the CA bundle.
const PathCABundle = "spec.networking.tls.caBundle"

// CABundleFact is what was found at spec.networking.tls.caBundle.
type CABundleFact struct {
	// Namespace and Name are those of the ConfigMap.
	Namespace, Name string
	// Keys are the keys whose certificates count, all of them; empty leaves the choice to the operator.
	Keys []string
	// Lookup is what was found.
	Lookup `json:"-"`
	// Data is what the ConfigMap holds.
	Data map[string]string
}

// NamedCABundle reports where the CA certificates of the resource are; nil where it names none. What conversion carried from v1alpha1
// counts: another namespace, and several keys.
func (in *Inputs) NamedCABundle() *CABundleFact {
	n := in.CR.Spec.Networking
	if n == nil || n.TLS == nil || n.TLS.CABundle == nil {
		return nil
	}
	return &CABundleFact{
		Namespace: cmp.Or(in.Legacy.CABundleNamespace, in.CR.Namespace), Name: n.TLS.CABundle.ConfigMapName, Keys: in.Legacy.CABundleKeys,
	}
}

// PlatformBundle is the name of the ConfigMap that Open Data Hub puts into the namespaces of its projects. Release 0.9 let servers trust what it
// holds where the custom resource names no bundle.
const PlatformBundle = "odh-trusted-ca-bundle"

// PlatformCABundle is what the ConfigMap PlatformBundle of the namespace means: the certificates of all its keys, in the order of the keys. What
// else it holds is left out: the platform fills it in steps, and nobody who could fix it reads the status. It is nil where there is none.
func PlatformCABundle(namespace string, data map[string]string) *CABundleFact {
	var bundle bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(data)) {
		for rest := []byte(data[key]); ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if _, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == certificateBlock {
				_ = pem.Encode(&bundle, &pem.Block{Type: certificateBlock, Bytes: block.Bytes}) // a buffer takes everything
			}
		}
	}
	if bundle.Len() == 0 {
		return nil
	}
	return &CABundleFact{Namespace: namespace, Name: PlatformBundle, Data: map[string]string{bundleKeys[0]: bundle.String()}}
}

const certificateBlock = "CERTIFICATE"

// The keys that a bundle is looked for under, in this order, when the resource names none.
var bundleKeys = []string{"ca-bundle.crt", "ca.crt"}

// caBundle returns the certificates that the server is to trust, as PEM.
func (d *Desired) caBundle(in *Inputs) string {
	f := in.CABundle
	switch {
	case f == nil:
		return ""
	case f.State == Unknown:
		return secret.OnCluster
	}
	if p := f.absent(f.lookedFor(), in.CR.Namespace, ""); p != nil {
		d.problems.AddFound(p)
		return ""
	}
	chosen, missing := f.keys()
	if missing != nil {
		d.problems.AddFound(missing)
		return ""
	}
	var bundle strings.Builder
	for _, key := range chosen {
		found, err := readPEM(f.Data[key])
		where := fmt.Sprintf("the key %q of ConfigMap %s/%s", key, f.Namespace, f.Name)
		switch {
		case err != nil:
			d.problems.Add(f.invalid(fmt.Sprintf("%s: %v", where, err), "correct or remove it there"))
			return ""
		case found.certificates == "":
			d.problems.Add(f.invalid(where+" holds no certificate", "put one there in PEM form (-----BEGIN CERTIFICATE-----)"))
			return ""
		}
		if found.privateKey {
			d.problems.warn(problem.InvalidConfigMap, PathCABundle, where+" holds a private key, which is not copied",
				"move private keys to a Secret: who may read ConfigMaps can read them")
		}
		bundle.WriteString(found.certificates)
	}
	return bundle.String()
}

func (f *CABundleFact) invalid(detail, fix string) problem.Problem {
	return problem.Problem{
		Reason: problem.InvalidConfigMap, Path: PathCABundle + ".configMapName", Type: field.ErrorTypeInvalid, Value: f.Name, Detail: detail, Fix: fix,
	}
}

// keys are the keys whose certificates count, or the problem of a bundle that does not have them.
func (f *CABundleFact) keys() ([]string, *problem.Problem) {
	if len(f.Keys) > 0 {
		found := LookIn(f.Data, f.Keys...)
		return unique(f.Keys), found.absent(f.lookedFor(), "", "")
	}
	for _, key := range bundleKeys {
		if _, ok := f.Data[key]; ok {
			return []string{key}, nil
		}
	}
	if len(f.Data) == 1 {
		return slices.Collect(maps.Keys(f.Data)), nil
	}
	lacking := Lookup{ExistingKeys: slices.Sorted(maps.Keys(f.Data))}
	return nil, problem.New(problem.Problem{
		Reason: problem.ConfigMapNotFound, Path: PathCABundle + ".configMapName",
		Detail: fmt.Sprintf("ConfigMap %s (namespace %s) has neither the key %s nor only one key", f.Name, f.Namespace, strings.Join(bundleKeys, " nor ")),
		Fix:    "add one of them" + lacking.existing(),
	})
}

// reference is the reference of the fact.
func (f *CABundleFact) reference() objects.Reference {
	return objects.Reference{Kind: objects.KindConfigMap, Namespace: f.Namespace, Name: f.Name, Keys: f.Keys, Path: PathCABundle + ".configMapName"}
}

// lookedFor is the reference with the key to create where the spec names none.
func (f *CABundleFact) lookedFor() *objects.Reference {
	ref := f.reference()
	if len(ref.Keys) == 0 {
		ref.Keys = bundleKeys[:1]
	}
	return &ref
}

// unique returns the names, each once, in their order.
func unique(names []string) []string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

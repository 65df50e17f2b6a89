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

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

const pathCABundle = "spec.networking.tls.caBundle"

// CABundleFact is what was found at spec.networking.tls.caBundle.
type CABundleFact struct {
	// Namespace and Name are those of the ConfigMap.
	Namespace, Name string
	// Keys are the keys whose certificates count, all of them; empty leaves the choice to the operator.
	Keys []string
	// Foreign is ConfigMapNotWatched, ConfigMapForbidden or ConfigMapNotAllowed where the ConfigMap is in another namespace and does not count.
	Foreign ConfigMapState `json:",omitempty"`
	// Missing tells that there is no such ConfigMap.
	Missing bool
	// Unknown tells that there is no cluster to read it from.
	Unknown bool
	// Data is what the ConfigMap holds.
	Data map[string]string
}

// CABundleOf tells where the certificate authorities of the resource are; nil where it names none. What conversion carried from v1alpha1
// counts: another namespace, and several keys.
func CABundleOf(cr *v1alpha2.LlamaStackDistribution) *CABundleFact {
	n := cr.Spec.Networking
	if n == nil || n.TLS == nil || n.TLS.CABundle == nil {
		return nil
	}
	legacy := v1alpha2.Legacy(cr)
	return &CABundleFact{
		Namespace: cmp.Or(legacy.CABundleNamespace, cr.Namespace), Name: n.TLS.CABundle.ConfigMapName, Keys: legacy.CABundleKeys,
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

// caBundle returns the certificates, and secret.OnCluster where they are not known; empty where none are asked for.
func (d *Desired) caBundle(in *Inputs) (string, *fault.Fault) {
	f := in.CABundle
	switch {
	case f == nil:
		return "", nil
	case f.Unknown:
		return secret.OnCluster, nil
	case f.Foreign != ConfigMapFound:
		return "", foreign(f.Foreign, pathCABundle+".configMapName", f.Name, f.Namespace, in.CR.Namespace)
	case f.Missing:
		return "", f.fault("ConfigMap not found: %s (namespace %s, referenced by %s): create it with the key %s",
			f.Name, f.Namespace, pathCABundle+".configMapName", bundleKeys[0])
	}
	chosen, fail := f.keys()
	if fail != nil {
		return "", fail
	}
	var bundle strings.Builder
	for _, key := range chosen {
		found, err := readPEM(f.Data[key])
		switch {
		case err != nil:
			return "", f.fault("%s: the key %q of ConfigMap %s/%s: %v: correct or remove it there", pathCABundle, key, f.Namespace, f.Name, err)
		case found.certificates == "":
			return "", f.fault("%s: the key %q of ConfigMap %s/%s holds no certificate: put one there in PEM form (-----BEGIN CERTIFICATE-----)",
				pathCABundle, key, f.Namespace, f.Name)
		}
		if found.privateKey {
			d.warn(pathCABundle, fmt.Sprintf("the key %q of ConfigMap %s/%s holds a private key, which is not copied", key, f.Namespace, f.Name),
				"move private keys to a Secret: who may read ConfigMaps can read them")
		}
		bundle.WriteString(found.certificates)
	}
	return bundle.String(), nil
}

// keys are the keys to take.
func (f *CABundleFact) keys() ([]string, *fault.Fault) {
	for _, key := range f.Keys {
		if _, ok := f.Data[key]; !ok {
			return nil, f.fault("ConfigMap %s (namespace %s, referenced by %s) has no key %q: add it%s", f.Name, f.Namespace, pathCABundle, key, f.existing())
		}
	}
	if len(f.Keys) > 0 {
		return unique(f.Keys), nil
	}
	for _, key := range bundleKeys {
		if _, ok := f.Data[key]; ok {
			return []string{key}, nil
		}
	}
	if len(f.Data) == 1 {
		return slices.Collect(maps.Keys(f.Data)), nil
	}
	return nil, f.fault("ConfigMap %s (namespace %s, referenced by %s) has neither the key %s nor only one key: add it%s",
		f.Name, f.Namespace, pathCABundle, strings.Join(bundleKeys, " nor "), f.existing())
}

func (f *CABundleFact) existing() string {
	if len(f.Data) == 0 {
		return "; it has no keys"
	}
	return "; its keys are " + bounds.Names(slices.Sorted(maps.Keys(f.Data)))
}

// fault is the fault of a bundle that cannot be used; it heals by itself when the ConfigMap changes.
func (f *CABundleFact) fault(format string, args ...any) *fault.Fault {
	return &fault.Fault{
		Class: fault.Missing, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonConfigMapNotFound,
		Message: fmt.Sprintf(format, args...),
	}
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

// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"k8s.io/apimachinery/pkg/util/validation"
)

// ProviderTLS has the certificates for the connections of a provider.
type ProviderTLS struct {
	// CABundle is the ConfigMap with the CA certificates, and CAKey its key; empty if not given.
	CABundle, CAKey string
	// ClientCertificate is the Secret with the client certificate; empty if not given.
	ClientCertificate string
	// Path is the path of the field for messages: "spec.providers.inference[1].tls".
	Path string
}

// defaultCAKey is the default key of a CA bundle.
const defaultCAKey = "ca-bundle.crt"

// CAPath returns the path of the field with the ConfigMap, for messages.
func (t *ProviderTLS) CAPath() string { return t.Path + ".caBundle.configMapName" }

// ClientCertificatePath returns the path of the field with the Secret, for messages.
func (t *ProviderTLS) ClientCertificatePath() string { return t.Path + ".clientCertificate.secretName" }

func (o *object) getTLS() *ProviderTLS {
	path := o.path.Child("tls")
	values := o.getMap("tls")
	if values == nil {
		return nil
	}
	tls := newObject(path, values)
	t := &ProviderTLS{Path: path.String()}
	if bundle := tls.getObject("caBundle"); bundle != nil {
		t.CABundle, t.CAKey = bundle.getObjectName("configMapName", "my-ca"), bundle.getString("key")
		if t.CAKey == "" {
			t.CAKey = defaultCAKey
		} else if len(validation.IsConfigMapKey(t.CAKey)) > 0 {
			bundle.report(invalid(bundle.path.Child("key"), "is not a valid key of a ConfigMap",
				"use letters, digits, '-', '_' and '.'"))
		}
		bundle.rejectUnknown([]string{"configMapName", "key"})
		tls.report(bundle.problems...)
	}
	if certificate := tls.getObject("clientCertificate"); certificate != nil {
		t.ClientCertificate = certificate.getObjectName("secretName", "my-client-certificate")
		certificate.rejectUnknown([]string{"secretName"})
		tls.report(certificate.problems...)
	}
	tls.rejectUnknown([]string{"caBundle", "clientCertificate"})
	if len(tls.problems) == 0 && t.CABundle == "" && t.ClientCertificate == "" {
		tls.report(missing(path, "caBundle, clientCertificate, or both", "set one of them, or remove it"))
	}
	o.report(tls.problems...)
	if len(tls.problems) > 0 {
		return nil
	}
	return t
}

// getObject returns the object of a key, or nil.
func (o *object) getObject(key string) *object {
	values := o.getMap(key)
	if values == nil {
		return nil
	}
	return newObject(o.path.Child(key), values)
}

// getObjectName returns the required name of a Kubernetes object.
func (o *object) getObjectName(key, example string) string {
	name := o.getRequiredString(key, example)
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		o.report(invalid(o.path.Child(key), "is not a valid object name", "use lower-case letters, digits, '-' and '.'"))
	}
	return name
}

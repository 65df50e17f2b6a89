// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

// PathCertificate is the field that names the Secret with the server's certificate.
const PathCertificate = "spec.networking.tls.secretName"

var certificateKeys = []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}

// CertificateFact is the result of reading spec.networking.tls.secretName.
type CertificateFact struct {
	Name string
	Lookup
	// Certificate is the certificate with its CA chain, as PEM.
	Certificate []byte
	Key         secret.Value
	// CA are the CA certificates that verify the certificate, as PEM; empty if the Secret has none.
	CA []byte
}

// CertificateOf returns the Secret with the server's certificate, or nil if TLS is not enabled.
func CertificateOf(cr *v1alpha2.LlamaStackDistribution) *CertificateFact {
	if !serverconfig.TLSEnabled(&cr.Spec) || ptr.Deref(cr.Spec.Networking.TLS.SecretName, "") == "" {
		return nil
	}
	return &CertificateFact{Name: *cr.Spec.Networking.TLS.SecretName}
}

// content returns the certificate, or a placeholder if it is unknown.
func (f *CertificateFact) content() []byte {
	if f.State == Unknown {
		return []byte(secret.OnCluster)
	}
	return f.Certificate
}

// ServerCertificate lets a client verify the server.
type ServerCertificate struct {
	// Host is the server's DNS name in the cluster.
	Host string
	// Leaf is the server's own certificate in DER form.
	Leaf []byte
	// CA are the CA certificates that verify it, as PEM; empty if unknown.
	CA []byte
}

// checkCertificate reports a certificate that the server cannot use or clients cannot trust.
func (d *Desired) checkCertificate(in *Inputs) {
	if !serverconfig.TLSEnabled(&in.CR.Spec) {
		return
	}
	f := in.Certificate
	name := ptr.Deref(in.CR.Spec.Networking.TLS.SecretName, "")
	switch {
	case name == "":
		d.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: PathCertificate, Type: field.ErrorTypeRequired,
			Detail: "TLS needs a certificate", Fix: "name a Secret of type kubernetes.io/tls in this namespace",
		})
	case len(validation.NameIsDNSSubdomain(name, false)) > 0:
		// package validation reports a name that no object can have
	case f == nil || f.State == Unknown: // gather reported the failed read
	default:
		if c := d.readCertificate(in, f); d.TLS().Mounted() {
			d.Certificate = c
		}
	}
}

func (d *Desired) readCertificate(in *Inputs, f *CertificateFact) *ServerCertificate {
	location := fmt.Sprintf("Secret %s/%s", in.CR.Namespace, f.Name)
	ref := certificateReference(f.Name, in.CR.Namespace)
	if p := f.absent(&ref, in.CR.Namespace, ""); p != nil {
		d.problems.AddFound(p)
		return nil
	}
	chain, err := readPEM(string(f.Certificate))
	block, _ := pem.Decode([]byte(chain.certificates))
	switch {
	case err != nil:
		d.problems.Add(f.invalid(fmt.Sprintf("the key %q of %s: %v", corev1.TLSCertKey, location, err)))
		return nil
	case block == nil:
		d.problems.Add(
			f.invalid(fmt.Sprintf("the key %q of %s contains no certificate in PEM form", corev1.TLSCertKey, location)),
		)
		return nil
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		d.problems.Add(f.invalid(fmt.Sprintf("the key %q of %s: PEM block 1 is not a certificate: %v", corev1.TLSCertKey,
			location, err)))
		return nil
	}
	if defect := f.Key.KeyProblem(leaf.PublicKey); defect != "" {
		d.problems.Add(f.invalid(fmt.Sprintf("the key %q of %s %s", corev1.TLSPrivateKeyKey, location, defect)))
		return nil
	}
	d.checkValidity(in, f, leaf, location)
	d.checkHost(in, f, leaf, location)
	return &ServerCertificate{Host: names.ServiceHost(in.CR.Name, in.CR.Namespace), Leaf: leaf.Raw, CA: f.CA}
}

// checkValidity reports a certificate outside of its validity, and sets Recheck to the next change.
func (d *Desired) checkValidity(in *Inputs, f *CertificateFact, leaf *x509.Certificate, location string) {
	switch {
	case in.Now.After(leaf.NotAfter):
		d.problems.Add(problem.Problem{
			Reason: problem.InvalidSecret, Path: PathCertificate, Type: field.ErrorTypeInvalid, Value: f.Name,
			Detail: fmt.Sprintf("the certificate in %s expired at %s", location, leaf.NotAfter.UTC().Format(time.RFC3339)),
			Fix:    "renew it",
		})
	case in.Now.Before(leaf.NotBefore):
		d.RequeueAt = leaf.NotBefore
		d.problems.Add(problem.Problem{
			Reason: problem.InvalidSecret, Path: PathCertificate, Type: field.ErrorTypeInvalid, Value: f.Name,
			Detail: fmt.Sprintf("the certificate in %s is not valid before %s", location,
				leaf.NotBefore.UTC().Format(time.RFC3339)),
			Fix: "wait, or issue another one",
		})
	default:
		d.RequeueAt = leaf.NotAfter
	}
}

// checkHost reports a certificate without the Service's DNS name; only a warning if it has the exposed host name.
func (d *Desired) checkHost(in *Inputs, f *CertificateFact, leaf *x509.Certificate, location string) {
	host := names.ServiceHost(in.CR.Name, in.CR.Namespace)
	if leaf.VerifyHostname(host) == nil {
		return
	}
	p := problem.Problem{
		Reason: problem.InvalidSecret, Path: PathCertificate, Type: field.ErrorTypeInvalid, Value: f.Name,
		Detail: fmt.Sprintf("the certificate in %s is not for the server's Service: its DNS names are %s", location,
			dnsNames(leaf)),
		Fix: fmt.Sprintf("issue one with the DNS name %s; %s.cluster.local should be among its names too", host, host),
	}
	if expose := in.Spec.Expose; expose.Enabled && expose.Hostname != "" && leaf.VerifyHostname(expose.Hostname) == nil {
		p.Severity, p.Type = problem.Warning, ""
		p.Detail += ", so clients in the cluster cannot verify it"
	}
	d.problems.Add(p)
}

func dnsNames(leaf *x509.Certificate) string {
	if len(leaf.DNSNames) == 0 {
		return "none (the common name is ignored)"
	}
	return limits.Names(leaf.DNSNames)
}

func certificateReference(name, namespace string) objects.Reference {
	return objects.Reference{Kind: objects.KindSecret, Namespace: namespace, Name: name, Keys: certificateKeys,
		Path: PathCertificate}
}

func (f *CertificateFact) invalid(detail string) problem.Problem {
	return problem.Problem{
		Reason: problem.InvalidSecret, Path: PathCertificate, Type: field.ErrorTypeInvalid, Value: f.Name, Detail: detail,
		Fix: "put a certificate and its key into the Secret",
	}
}

const pathTLSEnabled = "spec.networking.tls.enabled"

// warnPlainOverride reports a certificate that the user's own configuration does not use: an error if it serves
// without TLS. No custom resource of v1alpha1 has the field.
func (d *Desired) warnPlainOverride(in *Inputs, read *serverconfig.Override) {
	if !serverconfig.TLSEnabled(&in.CR.Spec) || read.TLS.Mounted() {
		return
	}
	fix := "write tls_certfile: " + serverconfig.TLSCertFile + " and tls_keyfile: " + serverconfig.TLSKeyFile +
		" under server: there, or remove the field"
	if !read.TLS.Enabled() {
		d.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: pathTLSEnabled, Type: field.ErrorTypeForbidden,
			Detail: "has no effect with spec.overrideConfig, whose configuration has no TLS files: the server does not encrypt",
			Fix:    fix,
		})
		return
	}
	d.problems.warn(problem.NoEffect, pathTLSEnabled,
		"has no effect with spec.overrideConfig, whose configuration uses other files", fix)
}

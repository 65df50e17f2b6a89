// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// CRDName is the name of the CustomResourceDefinition.
	CRDName = "llamastackdistributions.llamastack.io"
	// ValidationName is the name of the optional ValidatingWebhookConfiguration.
	ValidationName = "llama-stack-k8s-operator-validating-webhook-configuration"
	// fieldManager owns only the CA bundles in the CRD and the webhook configuration.
	fieldManager = "llama-stack-k8s-operator-certificates"
)

// target is an object that makes the API server call the webhooks.
type target struct {
	// names are the DNS names that the API server calls; trusted are their CA bundles.
	names   []string
	trusted [][]byte
	// patch returns a server-side apply patch that sets only the CA bundle.
	patch func(caBundle []byte) *unstructured.Unstructured
}

// targets returns the objects that refer to a Service in the namespace.
func targets(ctx context.Context, reader client.Reader, namespace string) ([]target, error) {
	var found []target
	if d, err := conversionTarget(ctx, reader, namespace); err != nil {
		return nil, err
	} else if d != nil {
		found = append(found, *d)
	}
	var validation admissionv1.ValidatingWebhookConfiguration
	if err := reader.Get(ctx, client.ObjectKey{Name: ValidationName}, &validation); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("ValidatingWebhookConfiguration %s: %w", ValidationName, err)
	} else if d := validationTargetOf(&validation, namespace); err == nil && d != nil {
		found = append(found, *d)
	}
	return found, nil
}

// conversionTarget returns the CRD as a target; nil if it does not exist or converts elsewhere.
func conversionTarget(ctx context.Context, reader client.Reader, namespace string) (*target, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	err := reader.Get(ctx, client.ObjectKey{Name: CRDName}, &crd)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", CRDName, err)
	}
	return conversionTargetOf(&crd, namespace), nil // nil for an empty CRD
}

func conversionTargetOf(crd *apiextensionsv1.CustomResourceDefinition, namespace string) *target {
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil ||
		conversion.Webhook.ClientConfig == nil || conversion.Webhook.ClientConfig.Service == nil {
		return nil
	}
	config := conversion.Webhook.ClientConfig
	if config.Service.Namespace != namespace || crd.DeletionTimestamp != nil {
		return nil
	}
	return &target{
		names:   []string{dnsName(config.Service.Name, namespace)},
		trusted: [][]byte{config.CABundle},
		patch: func(caBundle []byte) *unstructured.Unstructured {
			return applyPatch("apiextensions.k8s.io/v1", "CustomResourceDefinition", CRDName, "spec", map[string]any{
				"conversion": map[string]any{"webhook": map[string]any{"clientConfig": clientConfig(caBundle)}},
			})
		},
	}
}

func validationTargetOf(v *admissionv1.ValidatingWebhookConfiguration, namespace string) *target {
	d := &target{}
	var webhooks []string
	for i := range v.Webhooks {
		w := &v.Webhooks[i]
		if w.ClientConfig.Service == nil || w.ClientConfig.Service.Namespace != namespace {
			continue
		}
		if len(utilvalidation.IsDNS1123Label(w.ClientConfig.Service.Name)) > 0 {
			continue // this name cannot be a Service or in a certificate, and must not block conversion
		}
		d.names = append(d.names, dnsName(w.ClientConfig.Service.Name, namespace))
		d.trusted = append(d.trusted, w.ClientConfig.CABundle)
		webhooks = append(webhooks, w.Name)
	}
	if len(webhooks) == 0 {
		return nil
	}
	d.patch = func(caBundle []byte) *unstructured.Unstructured {
		entries := make([]any, 0, len(webhooks))
		for _, name := range webhooks {
			entries = append(entries, map[string]any{"name": name, "clientConfig": clientConfig(caBundle)})
		}
		return applyPatch("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", ValidationName, "webhooks",
			entries)
	}
	return d
}

// trusts reports whether all CA bundles of the target equal caBundle.
func (d *target) trusts(caBundle []byte) bool {
	return !slices.ContainsFunc(d.trusted, func(t []byte) bool { return !bytes.Equal(t, caBundle) })
}

func dnsName(service, namespace string) string { return service + "." + namespace + ".svc" }

func clientConfig(caBundle []byte) map[string]any {
	return map[string]any{"caBundle": base64.StdEncoding.EncodeToString(caBundle)}
}

func applyPatch(apiVersion, kind, name, field string, value any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, field: value,
	}}
}

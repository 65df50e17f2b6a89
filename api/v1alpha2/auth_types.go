// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// AuthSpec configures authentication and authorization of the server. Each field replaces the same part of the base
// configuration; omitted fields keep it.
type AuthSpec struct {
	// Provider is the type of authentication: oauth2, kubernetes, github, custom, upstream-header or api-key, or the
	// server's own name. The release line of the server must support it.
	// +optional
	Provider *string `json:"provider,omitempty"`

	// Settings are the fields of the type, by the server's names. docs/providers.md lists them.
	// +optional
	Settings *apiextensionsv1.JSON `json:"settings,omitempty"`

	// SecretRefs are fields with values from Secrets: an object of secret references by field. A dot selects a field of a
	// map, as in "introspection.client_secret", or names an item of a list, as in "api_keys.team-a".
	// +optional
	SecretRefs *apiextensionsv1.JSON `json:"secretRefs,omitempty"`

	// AccessPolicy are the rules for resources, such as models and vector stores, in the server's format. The first
	// matching rule applies; a request without a matching rule is denied.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	AccessPolicy []apiextensionsv1.JSON `json:"accessPolicy,omitempty"`

	// RoutePolicy are the rules for API paths, in the server's format. The first matching rule applies; a request without
	// a matching rule is denied. The operator keeps the path of the probes open.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	RoutePolicy []apiextensionsv1.JSON `json:"routePolicy,omitempty"`

	// Tenancy separates the data of tenants: an object with mode (disabled, single or multi) and default_tenant_id.
	// +optional
	Tenancy *apiextensionsv1.JSON `json:"tenancy,omitempty"`
}

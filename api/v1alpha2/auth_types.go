// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// AuthSpec says who may call the server, and what they may do. Each part that is set takes the place of the same part
// of the base configuration; absent parts stay as the base has them.
type AuthSpec struct {
	// Provider is the type of authentication: oauth2, kubernetes, github, custom, upstream-header or api-key, or the
	// server's own name of it. The release line of the server must have it.
	// +optional
	Provider *string `json:"provider,omitempty"`

	// Settings are the fields of the type, by the server's names: docs/providers.md lists them.
	// +optional
	Settings *apiextensionsv1.JSON `json:"settings,omitempty"`

	// SecretRefs are fields whose values come from Secrets: an object of secret references by field. A dot leads into a
	// map, as in "introspection.client_secret", and names an item of a list, as in "api_keys.team-a".
	// +optional
	SecretRefs *apiextensionsv1.JSON `json:"secretRefs,omitempty"`

	// AccessPolicy are the rules about resources, such as models and vector stores, in the server's form. The first rule
	// that matches decides; without one the request is denied.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	AccessPolicy []apiextensionsv1.JSON `json:"accessPolicy,omitempty"`

	// RoutePolicy are the rules about paths of the API, in the server's form. The first rule that matches decides; without
	// one the request is denied. The operator keeps the path of the probes open.
	// +optional
	// +kubebuilder:validation:MaxItems=200
	RoutePolicy []apiextensionsv1.JSON `json:"routePolicy,omitempty"`

	// Tenancy separates the data of tenants: an object with mode (disabled, single or multi) and default_tenant_id.
	// +optional
	Tenancy *apiextensionsv1.JSON `json:"tenancy,omitempty"`
}

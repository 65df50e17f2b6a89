// SPDX-License-Identifier: Apache-2.0

// Package settings parses the operator's ConfigMap and the ConfigMaps that register distributions, and resolves
// spec.distribution to an image, a release line and a base configuration.
//
// It is pure and contacts no registry. An invalid registration affects only the custom resources that use its name or
// image; an invalid key for all servers affects all of them. A registering ConfigMap overrides an entry of the same
// name, and both override the built-in distributions.
package settings

// SPDX-License-Identifier: Apache-2.0

// Package external adds spec.externalProviders to a configuration: providers from Python packages in images. An entry
// replaces the provider of the spec or the base with the same API and id, with a warning.
//
// The package is pure. The caller passes in the package descriptions from the images; an unknown one is a problem that
// resolves without an edit.
package external

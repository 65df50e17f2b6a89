// SPDX-License-Identifier: Apache-2.0

// Package providerinstaller installs the Python wheels of a provider's image into a directory that the server of the
// same pod reads. It runs in init containers without shell or Python, and runs no code of a provider.
//
// Install refuses conflicting versions and files, paths outside of Layout.Packages, and wheels above fixed bounds, and
// can be repeated after an interruption. It resolves and downloads no dependencies; the check against the server's
// packages is in internal/reconcile/objects.
package providerinstaller

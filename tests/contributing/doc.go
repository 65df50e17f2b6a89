// SPDX-License-Identifier: Apache-2.0

// Package contributing follows the ways of CONTRIBUTING.md: what somebody has to touch who adds a release line, a provider type, a field,
// a condition reason or a verb of the plugin.
//
// Contract: each way names its files in order, and a test goes through them for everything that exists already. So the page is true, and
// who forgets a file of a new one reads which. It checks names only; what is right in the files, other tests prove.
package contributing

// SPDX-License-Identifier: Apache-2.0

// Package externalprovider is a tiny external provider for tests: a Python package with inference and a tool runtime, as sources, as a wheel,
// and as the content of an image.
//
// Contract: the same arguments give the same bytes. The Python package needs nothing that servers of all release lines do not have.
package externalprovider

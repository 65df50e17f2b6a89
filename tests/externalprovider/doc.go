// SPDX-License-Identifier: Apache-2.0

// Package externalprovider is a tiny external provider as Python sources, as a wheel, and as the content of an image.
// It has inference and a tool runtime, and works with the servers of all release lines. The same arguments give the
// same bytes.
package externalprovider

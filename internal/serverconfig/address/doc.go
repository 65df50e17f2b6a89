// SPDX-License-Identifier: Apache-2.0

// Package address parses and validates network addresses, in which environment references may replace the port or parts
// of the host. Reasons never quote the address, because it may hold a credential.
package address

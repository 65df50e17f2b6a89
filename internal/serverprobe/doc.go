// SPDX-License-Identifier: Apache-2.0

// Package serverprobe reads the version, providers and registered resources of a running server.
//
// Responses are untrusted. Requests follow no redirects, use no proxy and send no credentials; time, size and nesting
// are limited. The certificate is verified if the caller knows it. Errors and logs never contain text from the server,
// and an Observation has at most about 100 KiB of versions and printable names, not the config or health of providers.
package serverprobe

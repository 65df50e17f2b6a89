// SPDX-License-Identifier: Apache-2.0

// Package release compares a configuration with a release line: config schema, schema version, missing APIs, and
// differences of older patch releases. The data is in package catalog.
package release

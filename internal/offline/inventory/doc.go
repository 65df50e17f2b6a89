// SPDX-License-Identifier: Apache-2.0

// Package inventory lists the providers of a configuration, whether they are enabled, and its models by their
// client-facing names.
//
// It is pure and uses the operator's own functions. The image's own environment is unknown.
package inventory

// SPDX-License-Identifier: Apache-2.0

// Package migrate implements the verb migrate, which rewrites a custom resource with provider environment variables or
// a configuration of its own as v1alpha2 with spec.providers, and a configuration for another release line.
//
// It compares the effective configurations before and after. For variables, a difference other than two known
// improvements is an error; for a configuration, differences are listed. It needs no cluster.
package migrate

// SPDX-License-Identifier: Apache-2.0

// Package migrate implements the verb migrate, which rewrites a custom resource with provider environment variables as
// v1alpha2 with spec.providers.
//
// Only variables that the distribution reads for a provider or that name a model become fields. The verb compares the
// effective configurations before and after, and prints nothing if they differ except for two known improvements. It
// needs no cluster.
//
// With --to, the verb rewrites a server's own configuration for another release line.
package migrate

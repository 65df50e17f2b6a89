// SPDX-License-Identifier: Apache-2.0

// Package migrate is the verb that rewrites a custom resource that configures its providers by environment variables,
// in either version, as v1alpha2 with spec.providers.
//
// Contract: the conversion is that of the operator's webhook. Only variables that the distribution reads for a
// provider, and those that name a model, become fields; every other variable stays. The verb makes both configurations
// with the operator's own code, puts the environment in, and compares them: what differs is either one of two known
// improvements, which are listed, or an error, and then nothing is printed. It changes no file and asks no cluster.
package migrate

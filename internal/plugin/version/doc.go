// SPDX-License-Identifier: Apache-2.0

// Package version is the verb that reports which build of the plugin this is, and which server releases it knows.
//
// Contract: it asks nobody, so it does not know what runs in a cluster.
package version

// SPDX-License-Identifier: Apache-2.0

// Package downgrade is the verb downgrade-prepare of the kubectl plugin, the only one that asks a cluster.
package downgrade

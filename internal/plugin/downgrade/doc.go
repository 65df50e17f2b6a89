// SPDX-License-Identifier: Apache-2.0

// Package downgrade is the verb downgrade-prepare of the kubectl plugin.
package downgrade

// SPDX-License-Identifier: Apache-2.0

// Package downgrade implements the verb downgrade-prepare.
package downgrade

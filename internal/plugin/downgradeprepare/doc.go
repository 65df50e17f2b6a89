// SPDX-License-Identifier: Apache-2.0

// Package downgradeprepare implements the verb downgrade-prepare.
package downgradeprepare

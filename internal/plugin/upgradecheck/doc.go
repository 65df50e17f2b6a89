// SPDX-License-Identifier: Apache-2.0

// Package upgradecheck implements the verb upgrade-check, which compares a custom resource between two server releases.
//
// It builds both with the operator's code. Changes that the server makes to its own data are not known. It changes
// nothing and reads no Secrets.
package upgradecheck

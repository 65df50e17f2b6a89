// SPDX-License-Identifier: Apache-2.0

// Package status implements the verb status: a table of all custom resources, or a screen for one.
//
// It reads no Secrets, and only the end of the log of a container that ended. It shows the operator's status unchanged,
// and uses the operator's code to determine enabled providers and remedies. Objects that the user may not read are
// listed.
package status

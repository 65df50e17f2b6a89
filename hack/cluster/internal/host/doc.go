// SPDX-License-Identifier: Apache-2.0

// Package host checks whether a machine can run the node tier, installs missing Debian packages on request, and creates
// and removes the node's cgroups.
package host

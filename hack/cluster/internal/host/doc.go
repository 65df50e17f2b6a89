// SPDX-License-Identifier: Apache-2.0

// Package host says whether a machine can run the node tier and what is missing, installs Debian packages where that is
// asked for, and makes and removes the control groups of a node.
package host

// SPDX-License-Identifier: Apache-2.0

// Package addresses assigns names and address ranges to the clusters of one machine. A reservation is a file with the
// cluster's directory and the process during whose life it is valid.
package addresses

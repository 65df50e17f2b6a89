// SPDX-License-Identifier: Apache-2.0

// Package addresses allots the names and address ranges of the clusters of one machine. A reservation is a file that
// names the directory holds it and which process shows that this is still so.
package addresses

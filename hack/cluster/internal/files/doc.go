// SPDX-License-Identifier: Apache-2.0

// Package files keeps what the cluster leaves on the disk: the directory of the cache, locks that end with their
// process, and files that are replaced as a whole. It knows nothing of clusters.
package files

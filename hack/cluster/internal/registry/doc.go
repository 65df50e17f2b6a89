// SPDX-License-Identifier: Apache-2.0

// Package registry serves the image registry of a cluster, plain HTTP, without credentials but for repositories below
// "private", and pushes image archives to it. It knows nothing else of the cluster.
package registry

// SPDX-License-Identifier: Apache-2.0

// Package names has the names, labels, annotations and selectors of a custom resource's objects.
//
// They never change: clusters that ran release 0.9 keep their Deployments, Services and PVCs.
package names

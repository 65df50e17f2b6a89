// SPDX-License-Identifier: Apache-2.0

// Package diff is the verb that shows what applying a file would change in a cluster.
//
// Contract: both sides, the custom resource of the cluster and that of the file, are made by the operator's own code
// and compared as package difference does. It reads the custom resource, the operator's settings and the ConfigMaps
// that the spec names; no Secret. It changes nothing. The exit code is that of kubectl diff: 0 for no difference, 1 for
// some, more for an error.
package diff

// SPDX-License-Identifier: Apache-2.0

package sandbox

// Root is where the node's processes see the cluster's directory.
const Root = "/var/lib/cluster"

// SPDX-License-Identifier: Apache-2.0

package sandbox

// Root is the cluster's directory as the node's processes see it.
const Root = "/var/lib/cluster"

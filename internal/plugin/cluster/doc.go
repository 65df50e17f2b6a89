// SPDX-License-Identifier: Apache-2.0

// Package cluster connects verbs of the kubectl plugin to a cluster: kubectl's flags, a client, port forwarding, and
// the operator's settings.
//
// Flags and kubeconfig have the same meaning as in kubectl. Verbs take a Connect function, which tests replace.
// Redirects are not followed.
package cluster

// SPDX-License-Identifier: Apache-2.0

// Package logs is the verb that prints the log of a server.
//
// Contract: it finds the pod and the container, and prints the log: it is not redacted, as with kubectl logs. It
// changes nothing.
package logs

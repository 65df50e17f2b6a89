// SPDX-License-Identifier: Apache-2.0

// Package framework is what all tests share: a cluster, the operator's program, readers and waiters for a namespace, databases, pages that are
// followed, and the objects of release 0.9.
//
// Contract: a Cluster is driven by the project's own cluster command, named by the environment variable LLSD_CLUSTER (the Makefile sets it).
// A missing program is an error; nothing is skipped. Waiting is polling with a deadline, and a wait that fails reports the last error.
// Everything that a test starts ends with the test.
package framework

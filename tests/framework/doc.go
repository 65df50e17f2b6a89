// SPDX-License-Identifier: Apache-2.0

// Package framework has the helpers that all tests share: clusters, the operator's program, namespaces, databases,
// documentation pages, and the recorded objects of release 0.9. Everything that a test starts ends with the test.
//
// The Makefile sets LLSD_CLUSTER to the command that starts a Cluster. A missing program is an error, and no test is
// skipped.
package framework

// SPDX-License-Identifier: Apache-2.0

// Package integration proves the operator against a real API server with RBAC and a real controller manager.
//
// Contract: the operator runs in the test's process, but with the permissions that dist/install.yaml gives it, and
// every test has a namespace of its own. Pods do not run here; where a test needs them ready, nodeDouble says so in their
// status, and where it needs a server to answer, serverDouble does. Real pods and servers are for tests/e2e.
//
// Tests run in parallel, each in a namespace of the shared cluster (newEnv) or in a cluster that is lent to it alone and made new for the next one
// (newServing). A test is not parallel if it changes what others see (the operator's settings in the shared cluster, an operator for all namespaces),
// or if it measures what others change: times, its own memory, requests that fail meanwhile, or that there are none. Those run first, one after the
// other.
//
// Tests that need a cluster of their own are listed in LIFECYCLE_TESTS of the Makefile: "make test-lifecycle" runs them, and "make test" starts one API
// server.
package integration

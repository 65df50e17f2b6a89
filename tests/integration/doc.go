// SPDX-License-Identifier: Apache-2.0

// Package integration proves the operator against a real API server with RBAC and a real controller manager.
//
// Contract: the operator runs in the test's process, but with the permissions that dist/install.yaml gives it, and
// every test has a namespace of its own. Pods do not run here; where a test needs them ready, nodeDouble says so in their
// status, and where it needs a server to answer, serverDouble does. Real pods and servers are for tests/e2e.
package integration

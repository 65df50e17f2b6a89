// SPDX-License-Identifier: Apache-2.0

// Package integration tests the operator against a real API server with RBAC and a real controller manager.
//
// Contract: the operator runs in the test's process with the permissions of dist/install.yaml (see package suite), and
// there are no pods. tests/e2e has real pods and servers, tests/lifecycle the tests that need their own control plane.
// Tests run in parallel unless they change shared state, such as the operator's settings in the shared namespace, or
// measure time, memory or requests.
package integration

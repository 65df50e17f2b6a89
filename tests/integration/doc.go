// SPDX-License-Identifier: Apache-2.0

// Package integration tests the operator against a real API server with RBAC and a real controller manager.
//
// Contract: the operator runs in the test's process with the permissions of dist/install.yaml (see package suite),
// without pods. Tests run in parallel unless they change shared state, such as the operator's settings, or measure
// time, memory or requests. Tests that need their own control plane are in tests/lifecycle.
package integration

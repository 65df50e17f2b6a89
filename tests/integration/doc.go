// SPDX-License-Identifier: Apache-2.0

// Package integration tests the operator against a real API server with RBAC and a real controller manager.
//
// Contract: the operator runs in the test's process with the permissions of dist/install.yaml, as package suite describes. No pods run here:
// real pods and servers are for tests/e2e. Tests that need a control plane of their own are in tests/lifecycle.
//
// Tests run in parallel. A test is not parallel if it changes what others see, such as the operator's settings in the shared namespace, or if it
// measures time, memory or requests.
package integration

// SPDX-License-Identifier: Apache-2.0

// Package lifecycle tests how operators are installed, upgraded from release 0.9, replaced and removed, against real API servers.
//
// Contract: most tests borrow a control plane of their own (newControlPlane), in which the operator's program runs, or webhooks in the test's process.
// The others share a control plane as the tests of package integration do. No pods run here.
package lifecycle

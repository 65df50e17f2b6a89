// SPDX-License-Identifier: Apache-2.0

// Package lifecycle tests installing, upgrading from release 0.9, replacing and removing operators, against real API
// servers.
//
// Contract: most tests borrow their own control plane (newControlPlane), and run the operator's program or webhooks in
// the test's process. The others share a control plane, as those of package integration. There are no pods.
package lifecycle

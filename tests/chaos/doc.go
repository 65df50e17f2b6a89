// SPDX-License-Identifier: Apache-2.0

// Package chaos injects faults around the operator, and measures how soon it recovers.
//
// Contract: two replicas of the operator's program run as in the released manifest, against their own control plane,
// whose processes the suite stops and starts; framework.FakeKubelet writes pods. The results are printed as a table for
// docs/maintainers/reliability.md, and LLSD_CHAOS=full also runs the long faults. The tests run in sequence in their
// own network namespace, as those of tests/hostile, and need Linux and root.
package chaos

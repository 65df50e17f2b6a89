// SPDX-License-Identifier: Apache-2.0

// Package chaos breaks the world around the operator, and measures how soon nothing of it shows.
//
// Contract: the operator's real program runs as the released manifest runs it, two replicas with its own permissions and the webhooks on,
// against a real control plane of its own whose processes the suite stops and starts. Pods are written by framework.FakeKubelet; nothing else is
// fake. Each fault has a goal: how soon an edit takes effect, how often a process may have ended, how often a pod template may have changed.
// What was measured is printed as a table beside the goals, for docs/maintainers/reliability.md. LLSD_CHAOS=full runs the long faults too.
//
// The tests run one after the other in a network namespace of their own, as those of tests/hostile. They need Linux and root, and fail without.
package chaos

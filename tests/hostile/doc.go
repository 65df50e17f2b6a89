// SPDX-License-Identifier: Apache-2.0

// Package hostile sends the operator the inputs of an attacker, each of which must get a clear error: a denial, a
// condition, or an HTTP status.
//
// Contract: the operator's program runs with the arguments, permissions and memory limit of the released manifest,
// against its own control plane. It must not restart or use more than 200 MiB, and must apply other resources' edits
// all the time. The tests need Linux, root and control groups, because they run in their own network namespace, in
// which the API server reaches the webhooks by their Service.
package hostile

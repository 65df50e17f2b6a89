// SPDX-License-Identifier: Apache-2.0

// Package prober schedules probes of running servers in the background.
//
// A server is probed a few times after each rollout and each change of its pods. The last result counts, except a first
// failure, which is normal after a rollout. First and repeated probes have separate concurrency limits, so that silent
// servers do not delay new ones.
package prober

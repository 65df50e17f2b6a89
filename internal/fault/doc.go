// SPDX-License-Identifier: Apache-2.0

// Package fault classifies what keeps a resource from being brought into force.
//
// Contract: there are three classes, and they are never mixed up. Wrong input waits for an edit. A missing reference
// waits for the object, which is watched. A failed question (an API error, a timeout) is asked again with back-off.
// A Fault also names the condition that it makes False and the reason, so that status, events, requeues and logs all
// derive from the same value. Messages are stable (no times, sorted lists) and hold no secret values.
package fault

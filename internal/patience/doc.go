// SPDX-License-Identifier: Apache-2.0

// Package patience holds changes of a status back that a next change is about to replace, so that a rollout costs few writes.
//
// Contract: a change waits for a moment at most, counted from the first of those that follow one another. What is wrong, and what users wait for, does
// not wait. It writes nothing.
package patience

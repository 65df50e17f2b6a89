// SPDX-License-Identifier: Apache-2.0

// Command statuspage writes docs/status.md: the meaning of each condition and reason, with an example and the fix.
//
// Contract: the content is that of the tables in internal/problem and internal/reconcile/status, in their order; equal
// tables give equal bytes.
package main

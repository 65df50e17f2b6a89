// SPDX-License-Identifier: Apache-2.0

// Command statuspage makes docs/status.md: what each condition and each reason means, with an example and what to do.
//
// Contract: the content is that of the tables in internal/problem and internal/reconcile/status, in their order. Same
// tables, same bytes.
package main

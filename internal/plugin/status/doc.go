// SPDX-License-Identifier: Apache-2.0

// Package status is the verb that shows what a LlamaStackDistribution is doing: a table of all, or one screen for one.
//
// Contract: gather reads, make decides, print prints. It reads no Secret and no log. What the operator reports is shown
// as it is; what a configuration enables is decided by the functions that the operator itself uses. What may not be
// read is named, and the rest is shown.
package status

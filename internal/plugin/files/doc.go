// SPDX-License-Identifier: Apache-2.0

// Package files has the flags of verbs that read files in place of a cluster: the resources, and the operator's
// settings.
//
// Contract: a flag has the same name, text and meaning in each verb that has it. Standard input is read by one flag at
// most. Nothing is read before a verb asks.
package files

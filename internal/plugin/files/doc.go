// SPDX-License-Identifier: Apache-2.0

// Package files contains the flags of verbs that read custom resources and the operator's settings from files.
//
// A flag has the same name and meaning in every verb. At most one flag may read standard input.
package files

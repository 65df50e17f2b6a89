// SPDX-License-Identifier: Apache-2.0

// Package diff implements the verb diff, which shows the effect of applying a file.
//
// It builds the custom resource of the cluster and that of the file with the operator's code, and compares them with
// package difference. It reads no Secrets and changes nothing. Exit codes equal those of kubectl diff: 0 without
// differences, 1 with differences, greater for errors.
package diff

// SPDX-License-Identifier: Apache-2.0

// Package report implements the verb report, which writes an archive for a bug report.
//
// Secrets are read only to hide their values, and never archived. Values that look secret are always hidden. The
// archive lists objects that could not be read.
package report

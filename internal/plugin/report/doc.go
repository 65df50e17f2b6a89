// SPDX-License-Identifier: Apache-2.0

// Package report is the verb that packs an archive for a bug report.
//
// Contract: no Secret is packed. The Secrets that the custom resource, its objects and pods refer to are read where the
// user may, only to hide their values; what looks like a secret is hidden in any case (packages redact and secret).
// What may not be read is named in the archive. It changes nothing in the cluster.
package report

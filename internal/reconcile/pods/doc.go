// SPDX-License-Identifier: Apache-2.0

// Package pods explains why a server's new pod is not ready, and which image it runs. It is pure.
//
// The end of a log comes from the pod's status; it is shown only if all of the pod's secret values are known and
// redacted.
package pods

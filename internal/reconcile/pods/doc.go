// SPDX-License-Identifier: Apache-2.0

// Package pods explains from the status of a server's pods why a new pod is not ready, and which image it runs. It is
// pure.
//
// The end of a server's log comes from the pod's status, so no permission for logs is needed. It is shown only if all
// Secrets of the pod are known, and their values are redacted.
package pods

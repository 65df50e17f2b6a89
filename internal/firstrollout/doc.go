// SPDX-License-Identifier: Apache-2.0

// Package firstrollout remembers what was built for a new custom resource until its server runs. Until then, the status of its Deployment and pods
// changes several times: while these are the only changes, nothing is read, built and compared again.
//
// Contract: it returns what was built only where everything that it was built from is as it was: the custom resource, what that refers to, the
// operator's settings, and all objects that were created. It remembers a bounded number, for a bounded time, in memory alone, and so the values of
// Secrets in it. It reads from the caches, and writes nothing.
package firstrollout

// SPDX-License-Identifier: Apache-2.0

// Package redact hides secrets in objects, configurations and texts that the kubectl plugin shows or archives.
//
// It is pure and errs on the side of hiding: the data of Secrets, fields and variables with secret-like names, user
// information in URLs, and key-like words. References to Secrets stay.
package redact

// SPDX-License-Identifier: Apache-2.0

// Package redact hides what may be a secret in objects, configurations and texts that the kubectl plugin shows or
// packs.
//
// Contract: pure. It hides too much rather than too little: the data of Secrets, values of fields and environment
// variables whose names sound like a secret, user information of URLs, and words that look like a key. References to
// Secrets, which hold no value, stay.
package redact

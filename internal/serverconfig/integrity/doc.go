// SPDX-License-Identifier: Apache-2.0

// Package integrity checks a complete configuration: that it has what the server's loader demands, that everything that
// it names is there, that no two providers keep their state in one storage location, and that each environment variable
// reaches only what it is meant for.
//
// Contract: pure. It changes nothing but the set of variables, of which it removes those that the user sets instead. A
// problem is reported at the field of the spec that causes it, else at its place in the configuration, "config.yaml:
// …".
package integrity

// SPDX-License-Identifier: Apache-2.0

// Package cli contains the streams, exit codes and output formats that all verbs of the kubectl plugin share.
//
// A verb writes results to Out and everything else to Err, and returns an InputError if its input has errors. The
// streams escape control characters and workflow commands in text from other sources, and keep machine-readable output
// valid.
package cli

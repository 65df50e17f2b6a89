// SPDX-License-Identifier: Apache-2.0

// Package logging creates the operator's logger from its flags.
//
// From verbosity 8 on, client-go logs the bodies of requests, including Secrets. So the highest verbosity is 7; a
// higher one is lowered, which is logged.
package logging

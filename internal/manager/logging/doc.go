// SPDX-License-Identifier: Apache-2.0

// Package logging creates the operator's logger from its flags.
//
// The highest verbosity is 7, because from 8 on, client-go logs the bodies of requests, including Secrets.
package logging

// SPDX-License-Identifier: Apache-2.0

// Package logging makes the operator's logger from its flags.
//
// Contract: no verbosity that the flags accept lets a Secret's value out. client-go logs the bodies of requests and
// answers from verbosity 8 on, also through the logger in a context, so the highest verbosity is 7; a higher one is
// lowered, and a log message reports that. The package writes nothing else, and sets no global logger.
package logging

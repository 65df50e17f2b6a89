// SPDX-License-Identifier: Apache-2.0

// Command requirements writes docs/requirements.md: every requirement id that comments and tests may cite, with one sentence from
// requirements.yaml and the tests that cite it, by file and function.
//
//	requirements [-root DIR]
//
// It reads Go, Python and shell files. "R30 to R33" cites every id between. It fails, with the places, for an id that is cited
// and not listed; it does not validate whether a test proves what it cites.
package main

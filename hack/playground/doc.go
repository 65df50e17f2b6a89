// SPDX-License-Identifier: Apache-2.0

// Command playground writes the samples and release lines that the page of the playground offers, as JSON to standard
// output, with the answer about the first sample: it is shown until the engine is loaded.
//
// build.sh makes the whole page: this list, the engine (wasm) as it is after its start (snapshot.mjs), and the page's
// own code (page).
package main

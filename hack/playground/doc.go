// SPDX-License-Identifier: Apache-2.0

// Command playground prints JSON with the samples and release lines that the playground page offers, and the result for
// the first sample, which the page shows until the engine is loaded.
//
// build.sh builds the whole page: this list, the snapshot of the started engine (wasm, snapshot.mjs), and the page's
// code (page).
package main

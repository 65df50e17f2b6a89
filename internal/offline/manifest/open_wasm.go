// SPDX-License-Identifier: Apache-2.0

package manifest

// nonBlocking has no effect in a browser.
const nonBlocking = 0

// SPDX-License-Identifier: Apache-2.0

package manifest

// nonBlocking is without effect in a browser, which has no files.
const nonBlocking = 0

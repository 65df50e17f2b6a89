// SPDX-License-Identifier: Apache-2.0

package manifest

// nonBlocking is no flag: a browser has no files.
const nonBlocking = 0

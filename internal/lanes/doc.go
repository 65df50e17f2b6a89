// SPDX-License-Identifier: Apache-2.0

// Package lanes bounds how much is under way at once, so that what is slow delays only what shares its lane.
//
// Contract: a caller waits for a place in its lane first, and for one of all places afterwards. So callers that wait in a full lane hold no
// place that others could use. A lane without callers takes no memory. Wait ends with its context.
package lanes

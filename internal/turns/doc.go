// SPDX-License-Identifier: Apache-2.0

// Package turns keeps large custom resources from delaying small ones: only some of them hold a worker at a time, and they are built one after
// the other, with a rest after each.
//
// Contract: who has to wait does so in order and without a worker, and gets one event when it is its turn. A turn that is not used any more goes on to
// the next. It does not know what is done in a turn.
package turns

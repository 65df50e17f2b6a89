// SPDX-License-Identifier: Apache-2.0

// Package reconcile connects the packages: gather, build, apply, observe, report, in this order, once for each event.
//
// Contract: it decides nothing and builds nothing. Everything is driven by events: a resource that is applied and does
// not change costs no request. Only what cannot be watched is looked at again from time to time, such as an object of
// someone else that is in the way. Secrets and ConfigMaps are watched as metadata alone, without labels, and a resource
// is looked at again when an object that it names, or owns, changes. A running server is asked about itself off the
// reconcile worker, a few times after each rollout and each change of its pods. It remembers nothing between reconciles
// but which kinds of endpoints are watched.
package reconcile

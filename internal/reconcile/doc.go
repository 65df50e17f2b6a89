// SPDX-License-Identifier: Apache-2.0

// Package reconcile is the controller: it gathers, builds, applies, prunes, observes and reports, once for each event.
//
// It polls only what it cannot watch, such as a foreign object that blocks a name. It watches Secrets and ConfigMaps as
// metadata, and asks running servers outside of the workers. Between reconciles it remembers only which kinds of
// endpoints are watched.
package reconcile

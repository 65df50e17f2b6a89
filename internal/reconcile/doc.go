// SPDX-License-Identifier: Apache-2.0

// Package reconcile is the controller: it gathers, builds, applies, prunes, observes and reports, once for each event.
//
// It polls only states without a watch, such as a foreign object that blocks a name, and watches Secrets and ConfigMaps
// as metadata. Between reconciles it remembers only which kinds of endpoints are watched.
package reconcile

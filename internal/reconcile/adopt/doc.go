// SPDX-License-Identifier: Apache-2.0

// Package adopt takes over release 0.9's objects of a custom resource, and replaces its pods without losing requests.
//
// It writes nothing if a desired object is foreign. Each step derives from the cluster's state and can be repeated.
package adopt

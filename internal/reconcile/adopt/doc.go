// SPDX-License-Identifier: Apache-2.0

// Package adopt takes over the objects that release 0.9 made for a custom resource, and replaces its pods without
// losing requests.
//
// It writes nothing if a desired object is foreign. Each step derives from the cluster's state and can be repeated.
// Package apply writes the desired objects.
package adopt

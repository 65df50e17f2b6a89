// SPDX-License-Identifier: Apache-2.0

// Package adopt takes over the objects that release 0.9 made for a custom resource, and replaces its pods without
// losing a request.
//
// Contract: it writes only what release 0.9 made for the custom resource, and nothing at all where an object that is
// desired is someone else's. Each step follows from what is in the cluster and can be repeated. What shall exist,
// package apply writes.
package adopt

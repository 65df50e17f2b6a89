// SPDX-License-Identifier: Apache-2.0

// Package apply is the one place that writes what package build makes: it creates what the caches do not have, changes
// the rest by server-side apply under one field manager, and removes what the resource owns and no longer wants.
//
// Contract: objects of the right name that someone else controls or made are never touched. What the operator made, and
// nobody owns any more, gets its owner back, but for a PVC: that is used as it is. A new object costs one request:
// nothing is looked up before it is created. The first apply makes the fields of a created object those of server-side
// apply, so that what is no longer desired goes. Nothing is sent where the live object is the one that was applied last
// and what is desired has not changed, or where it has the operator's fields already, as after a restart. What is to be
// written is known, and the API server was asked for it, before the first write: where it refuses one object, nothing
// is written. Only the operator's own fields are set, so that labels and annotations of others and "kubectl rollout
// restart" survive. A ConfigMap that pods still mount is not removed.
package apply

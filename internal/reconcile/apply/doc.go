// SPDX-License-Identifier: Apache-2.0

// Package apply writes the objects of package build: it creates them, applies changes by server-side apply under one
// field manager, and prunes owned objects that are no longer desired.
//
// It never touches foreign objects and fields, sends nothing if the operator's fields are as desired, and asks by a dry
// run first. It keeps ConfigMaps and Secrets that pods still use, and never deletes a PVC.
package apply

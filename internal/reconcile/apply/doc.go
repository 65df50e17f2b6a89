// SPDX-License-Identifier: Apache-2.0

// Package apply creates, applies and prunes the objects of package build, by server-side apply.
//
// It never touches foreign objects and fields, sends nothing for unchanged objects, and does a dry run first. It
// keeps ConfigMaps and Secrets that pods still use, and never deletes a PVC.
package apply

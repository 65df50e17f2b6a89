// SPDX-License-Identifier: Apache-2.0

// Package imagelabels reads labels and files of images in the background and caches them.
//
// Images by digest are read once; tags are checked again after hours and when a custom resource that uses them changes.
// A known result stays until a newer one replaces it, also across restarts. Custom resources share a result only if
// their credentials are equal. Concurrency is limited globally, per namespace and per registry.
package imagelabels

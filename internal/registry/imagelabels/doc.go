// SPDX-License-Identifier: Apache-2.0

// Package imagelabels asks registries for the labels of images, and for single files of them, and caches the answers.
//
// Contract: a Reader asks off the reconcile worker, and tells of a new answer. It asks once for an image by
// digest. It asks for a tag again after some hours, and when a custom resource that uses the tag changes: by one
// request without a body while the digest is the same. A known answer counts until there is a newer one, also across
// restarts. Failures are retried with back-off, and never before the registry permits it. Custom resources share an
// answer only if they have the same credentials for the image and its mirrors. The questions that are asked at once are
// bounded in all, for each namespace and for each registry; the cached answers by their bytes. A panic fails only its
// own question. Everything ends with the context of New.
//
// It does not choose which images to ask for, and does not interpret a configuration: that is package settings.
package imagelabels

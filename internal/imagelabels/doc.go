// SPDX-License-Identifier: Apache-2.0

// Package imagelabels decides when registries are asked for the labels of images, or for single files of them, and keeps what they answered; package
// registry does the asking.
//
// Contract: a Reader asks off the reconcile worker. It asks once for an image by digest, and then never again. A tag
// is asked again after some hours, and when a custom resource that uses it changes: by one request without a body
// while it stands for the same digest. An answer counts until there is a newer one, whatever happens to the
// registry, and survives restarts in a Store. What fails is asked again with back-off, and never earlier than the
// registry permits. Two custom resources share an answer only if they have the same credentials for the image and for
// each of its mirrors, so that nobody learns of an image that they may not pull. The number of questions at once is
// bounded in all, for each namespace and for each registry; so is that of images that wait, for each namespace, and
// the number of answers that are kept, of which a namespace takes none from one with fewer. What waits for an answer
// is never dropped; an answer that is dropped while it is used is asked for again after a pause. A question that
// panics has failed, and ends nothing else. What is new becomes an event on the channel of Events. Everything that was
// started ends with the context of New.
//
// It does not choose which images to ask for, and does not interpret a configuration: that is package settings.
package imagelabels

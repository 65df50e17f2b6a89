// SPDX-License-Identifier: Apache-2.0

// Package registry reads the labels of container images, and single files of their layers, from the registries that
// hold them.
//
// Contract: the Client asks a registry only for an image that its caller names, at the locations that its options have
// for it, with the caller's credentials. It reads manifests, the configuration of one image, and its layers one after
// the other, each with a limit in bytes, and verifies every digest. A search for a file whose path is not known has
// limits of bytes, files and time. It goes by plain HTTP only to registries that the settings name. What it decodes, it
// has read and measured before, and only a few questions decode at once: a small document can make a large tree. It
// connects to loopback and link-local addresses, where clouds keep their metadata services, only where the settings
// name the registry there: neither a reference nor a redirect leads to one. A registry leads to another host with a
// private address only where the settings name one of the two, or a cloud runs the registry. An Error has a Kind, so
// that callers decide without reading its text, and its text holds no credentials and nothing that a server wrote.
//
// It does no caching, waits for nothing but the answer, and tries nothing twice: pace and memory belong to its caller.
// It does not know what the labels mean: see package oci.
package registry

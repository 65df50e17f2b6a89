// SPDX-License-Identifier: Apache-2.0

// Package registry reads image labels and single files of layers from container registries.
//
// Every digest is verified, and every read has limits of bytes and nesting. Redirects must not reach loopback,
// link-local or private addresses that the settings do not allow, such as a cloud's metadata service. Errors have a
// Kind and contain neither credentials nor text from a server. Package imagelabels caches and retries; package oci
// interprets the labels.
package registry

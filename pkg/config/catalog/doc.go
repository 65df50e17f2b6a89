// SPDX-License-Identifier: Apache-2.0

// Package catalog tells what each release line of the server knows: its provider types, the names and types of
// their config fields, and which of those an endpoint, a key, a region or a deployment name goes to.
//
// Contract: the knowledge is data, one embedded file for each release line and in it one row for each provider type;
// supporting a provider or a release is an edit of data, never of code. What is returned is shared and must not be
// changed. The package does no I/O and does not know the custom resource.
package catalog

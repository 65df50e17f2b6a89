// SPDX-License-Identifier: Apache-2.0

// Package webhook serves what the API server asks the operator: the conversion between the versions of
// LlamaStackDistribution, and what the operator would report about one that is to be stored.
//
// Contract: it holds no rules of its own. Conversion takes the review apart, and decodes, converts and encodes one object after the
// other by api/v1alpha1: nothing passes through Go types, so nothing that a schema admits can make it fail.
// Validation decodes the review, has the facts gathered, and passes on what internal/admission says; what it cannot read or
// ask it admits.
//
// Anybody may reach the port. An Intake bounds what all requests cost together: how much memory their bodies take, how many are
// decoded at once, how long they wait and how long they take to arrive. Memory for a body is taken as it arrives, and where others need it,
// the slowest client is given up. Small reviews do not wait for large ones. A new connection takes
// the place of one on which nothing is asked, so that silent connections keep nobody out.
//
// A Server serves in every replica, not only in the leader, and before any cache is filled: the kind's own cache cannot be filled
// without conversion. Its certificate comes from internal/certificate. Handle is the place for further webhooks.
//
// Ready reports whether the API server gets conversions here: in the background, the replica calls its own port by the name and with
// the trust that the CustomResourceDefinition gives the API server. Nothing else decides: a validating webhook that is not trusted may
// not take conversion away.
//
// When the operator is told to end, the Server goes on for a while, since requests keep coming until every node has heard
// of it; it asks their senders to connect anew, and finishes what it has begun. A connection on which nothing is asked meanwhile
// is kept some time longer, and closed in the end: only then can a request that is sent at that very moment be lost.
package webhook

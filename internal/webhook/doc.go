// SPDX-License-Identifier: Apache-2.0

// Package webhook serves what the API server asks the operator: the conversion between the versions of
// LlamaStackDistribution, and what the operator would report about one that is to be stored.
//
// Contract: it holds no rules of its own. Conversion takes the review apart, and decodes, converts and encodes one
// object after the other by api/v1alpha1: nothing passes through Go types, so nothing that a schema admits can make it
// fail. Validation decodes the review, has the facts gathered, and passes on what internal/webhook/admission says; what
// it cannot read or ask it admits.
//
// Anyone may reach the port. An Intake bounds the memory of all reviews: of bodies, as their bytes arrive, and of
// decoded objects. If there is none left, the answer is status 503, and the API server repeats the request. Connections
// bounds the connections: those without a request give way to new ones. A client on the pod network can still delay
// reviews: with 256 requests at once whose bodies come slowly, for five seconds each, or with as many large bodies as
// fit. The NetworkPolicy is for that.
//
// A Server serves in every replica, not only in the leader, and before any cache is filled: the kind's own cache cannot
// be filled without conversion. Its certificate comes from internal/webhook/certificates. Handle is the place for
// further webhooks.
//
// Ready reports whether the CustomResourceDefinition trusts the certificate that is served. Nothing else decides: a
// validating webhook that is not trusted may not take conversion away.
//
// After SIGTERM the Server serves for some seconds more, because requests arrive until every node knows that the pod
// ends. Each answer closes its connection. Connections without a request then get an answer with status 503, which
// makes the API server repeat a request that it sends at this moment.
package webhook

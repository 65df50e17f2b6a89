// SPDX-License-Identifier: Apache-2.0

// Package chat is the verb that asks a server one question.
//
// Contract: it reaches a ready pod as port-forward does, takes the first registered model that can chat unless one is
// named, sends one request and prints the answer. It sends no credentials and follows no redirect. It trusts any
// certificate of the server, because the way to it is that of the API server.
package chat

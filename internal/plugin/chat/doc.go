// SPDX-License-Identifier: Apache-2.0

// Package chat implements the verb chat, which sends one question to a server.
//
// It forwards a port to a ready pod and uses the first model of type llm of the spec unless one is named. It sends only
// the token that a flag names, follows no redirects and accepts any certificate, because the API server connects to the
// pod.
package chat

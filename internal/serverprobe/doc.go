// SPDX-License-Identifier: Apache-2.0

// Package serverprobe asks a running server about itself: its version, its providers, and what it has registered.
//
// Contract: whatever answers is not trusted. Requests go only to the address that is given, by no proxy, follow no
// redirect and send no credentials. The certificate of a server that speaks HTTPS is verified where the caller knows
// it; where nobody does, because it is in files of the user's own, the answer counts as little as one without TLS. One
// deadline holds for everything that is asked, headers and bodies are read up to a limit, and JSON is measured before
// it is decoded. An Observation has some 100 KiB at most.
//
// Errors are made of texts of this package and of the operating system: nothing that a server sent stands in them or in
// a log. What an Observation keeps of an answer has the form of a version, or is short and printable. What the server
// says about a provider's config and health is not kept: the config shows some resolved secrets, and no release reports
// real health there.
package serverprobe

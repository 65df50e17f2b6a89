// SPDX-License-Identifier: Apache-2.0

// Package readable gives every custom resource that is stored to the controller, also one that Go's types cannot decode.
//
// Contract: a custom resource that cannot be decoded affects nobody but itself. Get returns what can be read of it together with an
// [UnreadableError]; List and indexes have what can be read. A list of [NewNames] decodes nothing. The cache holds the JSON texts of spec and
// status, not their trees. It decides nothing and writes nothing.
package readable

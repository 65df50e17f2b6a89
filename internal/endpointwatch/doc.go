// SPDX-License-Identifier: Apache-2.0

// Package endpointwatch watches the objects whose addresses are endpoints of servers: Services, and KServe's model servers.
//
// Contract: a kind is watched only while a custom resource refers to one of its objects, by metadata alone, and nothing is kept but the versions of
// the objects that are referred to. Each change of one of them becomes an event that names the custom resources. A kind that the cluster does not
// have is looked for again until it is there. Nothing is read here that decides: package gather reads the objects. Everything that was started ends
// with the context of New.
package endpointwatch

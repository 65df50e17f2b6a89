// SPDX-License-Identifier: Apache-2.0

// Package plugin is the kubectl plugin "kubectl llamastack": it puts the verbs together. Each verb has a package of its
// own, which gathers, makes and prints; package offline is what they share with each other, and with the operator.
//
// Contract: commands are built by functions from streams, and keep nothing in package variables, except that package
// offline compiles each version of the embedded CRD once for all of them. Those that need a cluster get their
// connection from package cluster, and the others contact nobody but the registry of an image that the user names, in
// label and render. Run ends neither the process nor prints elsewhere. Streams are made safe here, for all verbs.
package plugin

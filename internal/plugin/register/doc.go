// SPDX-License-Identifier: Apache-2.0

// Package register implements the verb register, which prints the ConfigMap that registers a distribution.
//
// It prints only what the operator accepts. It asks only the image's registry, with the user's credentials, for what
// the command line does not say. It writes nothing.
package register

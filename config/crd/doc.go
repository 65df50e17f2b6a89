// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinition as it is installed, for programs that validate resources without a
// cluster.
//
// Contract: the bytes are those of the generated file in bases. It parses nothing.
package crd

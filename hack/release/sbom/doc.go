// SPDX-License-Identifier: Apache-2.0

// Package sbom lists the modules of a program in an SPDX document.
//
// Contract: it reads the program and nothing else; the same program gives the same bytes.
package sbom

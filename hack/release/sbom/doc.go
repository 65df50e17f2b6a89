// SPDX-License-Identifier: Apache-2.0

// Package sbom lists the modules of a program in an SPDX document.
//
// Contract: it reads only the program; equal programs give equal bytes.
package sbom

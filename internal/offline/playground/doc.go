// SPDX-License-Identifier: Apache-2.0

// Package playground is the backend of the playground page: dry runs, differences between releases, and completion.
//
// It is pure and shares its code with the kubectl plugin. It compiles to WebAssembly, so it must not import clients or
// flags, which would increase the download.
package playground

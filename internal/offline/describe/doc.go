// SPDX-License-Identifier: Apache-2.0

// Package describe puts into words what the catalog knows about provider types and what the tables know about reasons,
// for the pages of the documentation and for the kubectl plugin.
//
// Contract: pure. The words are plain text without Markdown; who writes a page decorates them. It knows no provider
// type by name.
package describe

// SPDX-License-Identifier: Apache-2.0

// Command messages writes hack/messages/messages.txt: every text of the product that a user can get, from the string
// literals of its Go files, the rules of the CustomResourceDefinition and the golden messages of the admission policy.
//
//	messages [-root DIRECTORY]
//
// Contract: the list depends on the committed files alone, so the same checkout gives the same bytes. A text is a literal of at least
// two words, with … where the program puts in a value that is not a literal. The list has log messages and the texts of flags too,
// and a few literals that nobody reads; it exists for a reviewer's eyes and for the glossary (make lint-prose).
package main

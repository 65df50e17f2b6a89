// SPDX-License-Identifier: Apache-2.0

// Package playground is the verb that serves the page of the playground on this machine.
//
// Contract: the page is part of the program: hack/playground makes it in the folder page before the plugin of a release
// is built, and a program that is built without it says how to get it. The server listens on 127.0.0.1 alone, has only
// the files of the page, sends a security policy that lets the page load nothing else, and bounds the time and the
// connections of its clients. It contacts nobody and ends with the context.
package playground

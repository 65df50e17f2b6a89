// SPDX-License-Identifier: Apache-2.0

// Package playground implements the verb playground, which serves the playground page on 127.0.0.1.
//
// The page is embedded; hack/playground builds it before a release, and other builds return an error. Only the page's
// files are served, with a content security policy and with limits of time and connections.
package playground

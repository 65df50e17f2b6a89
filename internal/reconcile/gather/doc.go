// SPDX-License-Identifier: Apache-2.0

// Package gather reads everything that decides what shall exist for a resource: the secret values that it refers to,
// the operator's settings, the Deployment as it stands. It is the one place that reads before anything is decided.
//
// Contract: of Secrets and ConfigMaps, only those are read that the resource or the operator names, and live: no cache
// holds what is in them, except for admission's cache of the operator's settings and registered distributions, which
// are read live before admission refuses. They are read up to a sum of bytes; of Secrets with credentials for images,
// only the credentials for each image are kept. A cache of metadata saves requests: the settings that were parsed last
// serve as long as their version, and that of each registered distribution, is the same, and the platform's CA bundle
// is asked for only where there is one. The Deployment comes from the cache, and is read live where the cache lacks it
// and the resource is not new. What cannot be read is a problem of class Transient; what does not exist is a fact in
// the Inputs. Nothing is decided here and nothing is written.
package gather

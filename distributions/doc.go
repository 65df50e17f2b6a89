// SPDX-License-Identifier: Apache-2.0

// Package distributions holds what the operator knows about distributions: their names, their pinned images, and one
// base configuration for each distribution and release line (<distribution>/<line>.yaml).
//
// Contract: embedded data and look-ups, nothing else. Base configurations are returned as bytes; internal/serverconfig
// parses them. Registered distributions (the operator's ConfigMap) are not known here.
package distributions

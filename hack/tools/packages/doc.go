// SPDX-License-Identifier: Apache-2.0

// Package packages tests the released packages with the libraries of Helm, OLM, Argo CD (Lua), Flux (kstatus), SPDX and
// Prometheus.
//
// Contract: it has its own module, so that these libraries are not dependencies of the operator. Its only program is
// replay, which answers the dashboards' queries for pictures of them.
package packages

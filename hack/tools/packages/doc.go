// SPDX-License-Identifier: Apache-2.0

// Package packages tests what the operator ships with the libraries of the programs that users run on it: Helm, OLM,
// Argo CD's Lua, Flux' kstatus, SPDX, and Prometheus' engine for the alerts.
//
// Contract: it has a module of its own, because these libraries are never a dependency of the operator. There is no
// code but tests, and replay, which answers the queries of the dashboards for pictures of them.
package packages

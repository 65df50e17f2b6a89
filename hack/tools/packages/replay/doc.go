// SPDX-License-Identifier: Apache-2.0

// Command replay prints what a Prometheus answers to the queries of the Grafana dashboards, for pictures of them.
//
// Names and labels of the series are those that a real operator and a real server served (../testdata). Their values
// are invented: six hours of a fleet with quiet and busy servers, one that fails, a rollout, and a Secret that is
// missing for a while. Storage and engine are Prometheus' own.
//
// Contract: the same tables and recordings give the same bytes. It listens nowhere and asks nobody.
package main

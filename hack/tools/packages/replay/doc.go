// SPDX-License-Identifier: Apache-2.0

// Command replay prints a Prometheus' responses to the queries of the Grafana dashboards, for pictures of them. Names
// and labels of the series come from a real operator and a real server (../testdata), and the values are invented: six
// hours of a fleet with quiet and busy servers, a failing one, a rollout, and a Secret that is missing for a while.
//
// Contract: equal tables and recordings give equal bytes. It uses no network.
package main

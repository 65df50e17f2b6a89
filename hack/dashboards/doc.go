// SPDX-License-Identifier: Apache-2.0

// Command dashboards writes the Grafana dashboards of config/dashboards from the tables of this package.
//
// Contract: the output depends only on the tables; Grafana is not needed. "make generate" runs the command. The folder
// pictures draws the dashboards with Grafana's own components for review: "make dashboard-pictures".
package main

// SPDX-License-Identifier: Apache-2.0

// Command dashboards writes the Grafana dashboards of config/dashboards from the tables of this package.
//
// Contract: the same tables give the same bytes. Nobody asks Grafana. "make generate" runs it. The folder pictures
// draws them with Grafana's own components, so that somebody looks at them: "make dashboard-pictures".
package main

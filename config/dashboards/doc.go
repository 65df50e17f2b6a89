// SPDX-License-Identifier: Apache-2.0

// Package dashboards holds the Grafana dashboards: of the operator, of one server, and of all servers.
//
// Contract: the files *.json are what Grafana imports; hack/dashboards writes them. Each dashboard has a variable for
// its Prometheus, and asks only for metrics that the operator or servers have: a test runs every query on recorded
// metrics. The Helm chart has the same files.
package dashboards

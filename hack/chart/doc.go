// SPDX-License-Identifier: Apache-2.0

// Command chart writes the Helm chart from what dist/install.yaml installs:
//
//	go run ./hack/chart
//
// Each object of dist/install.yaml becomes a template, with values in the places where users differ. The Role of a
// watched namespace and the objects for cert-manager come from their overlays. So the chart and the manifest cannot
// drift apart. The reference of the values in the chart's README is made from values.yaml and values.schema.json, which
// are written by hand, like the templates without a header.
//
// Contract: the same sources give the same bytes. An object of a kind that it does not know is an error, so that a new
// one is decided on.
package main

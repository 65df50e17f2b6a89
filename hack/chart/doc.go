// SPDX-License-Identifier: Apache-2.0

// Command chart writes the Helm chart from what dist/install.yaml installs:
//
//	go run ./hack/chart
//
// Each object of dist/install.yaml becomes a template with values, so the chart cannot differ from the manifest. The
// Role of a watched namespace and the objects for cert-manager come from their overlays. The README's reference of
// values comes from values.yaml and values.schema.json, which are written by hand, as are templates without a header.
//
// Contract: equal sources give equal bytes. An object of an unknown kind is an error.
package main

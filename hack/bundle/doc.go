// SPDX-License-Identifier: Apache-2.0

// Command bundle writes the bundle and the catalog entry for the Operator Lifecycle Manager (OLM), from what
// dist/install.yaml installs:
//
//	go run ./hack/bundle
//
// A bundle can contain fewer kinds than the manifest. OLM makes the Deployment, the ServiceAccount and its permissions
// from the ClusterServiceVersion. It does not install the ValidatingWebhookConfiguration and the
// ValidatingAdmissionPolicy: the operator reports in the status what they would reject.
//
// Contract: the same sources give the same bytes. A kind of object that it does not know is an error, so that a new one
// is decided on.
package main

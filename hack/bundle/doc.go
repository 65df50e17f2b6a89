// SPDX-License-Identifier: Apache-2.0

// Command bundle writes the bundle and the catalog entry for the Operator Lifecycle Manager (OLM), from what
// dist/install.yaml installs:
//
//	go run ./hack/bundle
//
// OLM makes the Deployment, the ServiceAccount and its permissions from the ClusterServiceVersion. It does not install
// the ValidatingWebhookConfiguration and the ValidatingAdmissionPolicy: the operator reports in the status what they
// would reject.
//
// Contract: equal sources give equal bytes. An object of an unknown kind is an error.
package main

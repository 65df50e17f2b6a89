// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the operator as a user installs it: from dist/install.yaml, in a pod of a real cluster, with real
// llama-stack servers and a fake model server.
//
// Contract: "make test-e2e" runs it (Linux and root). LLSD_CLUSTER, LLSD_OPERATOR_IMAGE, LLSD_SERVER_IMAGE and
// LLSD_NEWEST_SERVER_IMAGE name the cluster command and the image archives, LLSD_PGVECTOR a PostgreSQL, and
// LLSD_CONTOUR an ingress controller. The parts run in the order of story_test.go on one cluster, up to two at a time.
// Each sets up what it needs, so it also runs alone (-run 'TestStory/...'). All namespaces enforce the restricted Pod
// Security Standard; the cluster has no network plugin that enforces policies. Tests poll with a deadline instead of
// sleeping.
package e2e

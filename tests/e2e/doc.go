// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the operator as a user installs it, in a real cluster with real llama-stack servers and a fake
// model server.
//
// Contract: "make test-e2e" runs it (Linux and root), and names the cluster command, image archives and other programs
// in LLSD_CLUSTER, LLSD_OPERATOR_IMAGE, LLSD_SERVER_IMAGE, LLSD_NEWEST_SERVER_IMAGE, LLSD_PGVECTOR and LLSD_CONTOUR.
// The parts run in the order of story_test.go on one cluster, up to two at a time; each also runs alone (-run
// 'TestStory/...'). All namespaces enforce the restricted Pod Security Standard. Tests poll with a deadline instead of
// sleeping.
package e2e

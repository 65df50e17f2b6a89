// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the operator as a user meets it: installed from dist/install.yaml, running in a pod of a real
// cluster, with real llama-stack servers and a fake model server behind them.
//
// Contract: "make test-e2e" runs it (Linux and root); the environment variables LLSD_CLUSTER, LLSD_OPERATOR_IMAGE,
// LLSD_SERVER_IMAGE and LLSD_NEWEST_SERVER_IMAGE name the cluster command and the image archives, LLSD_PGVECTOR a PostgreSQL, LLSD_CONTOUR an ingress
// controller:
// the tests run with two releases of the server, the one that the operator pins and the newest one, and change from one to
// the other. The parts run in the order of the chapters in story_test.go on one cluster, two at a time where they do not disturb each other; each brings
// about what it needs, so that one part alone runs too (-run 'TestStory/...').
// Everything happens in namespaces that enforce the restricted Pod Security Standard. Nothing waits for a fixed time:
// what shall happen is polled with a deadline, and what shall not happen is looked for after the operator has
// demonstrably reconciled. Contour, a real ingress controller that implements the Gateway API too, runs beside the node while a part needs it. Clients in
// Python run there too, in an environment of tests/server/venv.sh. The cluster has no network plugin that enforces policies.
//
// What a test sees is what a user sees: kubectl's output, the API, the server's answers, the backend's records. How the
// configuration is made in detail is the business of internal/serverconfig and tests/server.
package e2e

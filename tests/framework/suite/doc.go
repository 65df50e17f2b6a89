// SPDX-License-Identifier: Apache-2.0

// Package suite runs the operator in the test's process against a control plane that the tests of a package share.
//
// The operator has the permissions of dist/install.yaml. Each test has a namespace with a fake kubelet and a server
// double. After all tests, no secret value may be outside of Secrets, and the operator's roles must match its requests.
package suite

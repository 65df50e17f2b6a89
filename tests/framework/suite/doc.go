// SPDX-License-Identifier: Apache-2.0

// Package suite runs the operator in the test's process against a control plane that the tests of a package share.
//
// Contract: the operator has the permissions of dist/install.yaml. Each test has a namespace with the settings that it needs, in which a fake kubelet
// makes pods ready and a server double answers for the servers. After all tests, no secret value is outside of Secrets, and the operator's roles
// allow its requests and not more.
package suite

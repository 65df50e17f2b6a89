// SPDX-License-Identifier: Apache-2.0

// Package validate is the verb that checks resources without a cluster: for editors, pre-commit and CI.
//
// Contract: a resource that passes is accepted by the API server, and the operator of this version can make its
// configuration, as far as both can be known without a cluster: whether Secrets are there is not looked at. Documents
// of other kinds are counted and left alone. It changes no file.
package validate

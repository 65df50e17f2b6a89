// SPDX-License-Identifier: Apache-2.0

// Package validate implements the verb validate, for editors, pre-commit and CI.
//
// A valid custom resource is accepted by the API server and can be built by this version of the operator, as far as
// that is known without a cluster; the existence of Secrets is not checked. Documents of other kinds are only counted.
package validate

// SPDX-License-Identifier: Apache-2.0

// Package admission says what is wrong with a resource before it is stored: what the validating webhook answers.
//
// Contract: pure, and without rules of its own. Validate builds the resource dry, by the function that the controller
// calls, and sorts what that finds:
//
//   - what only an edit of the resource fixes is an error;
//   - what may be fixed elsewhere (the operator's settings, a field that this operator does not build yet) is a
//     warning;
//   - what could not be found out is not spoken of: a question without an answer never refuses a request.
//
// It validates the spec alone. Anybody who reaches the webhooks' port gets an answer, so neither the inputs nor the
// answer hold anything about the user's Secrets and ConfigMaps: the controller reports what is missing.
//
// A spec is validated only when it changes, and for what comes from v1alpha1 every error is a warning: release 0.9
// admitted it. The controller says all of it again, in the conditions of the resource.
package admission

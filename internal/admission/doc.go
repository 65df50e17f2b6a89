// SPDX-License-Identifier: Apache-2.0

// Package admission says what is wrong with a resource before it is stored: what the validating webhook answers.
//
// Contract: pure, and without rules of its own. Judge builds the resource dry, by the function that the controller calls,
// and sorts what that finds:
//
//   - what only an edit of the resource mends is an error;
//   - what may come or be mended elsewhere (a Secret or ConfigMap that is not there yet, the operator's settings, a field that
//     this operator does not build yet) is a warning, so that the order in which things are applied does not matter;
//   - what could not be found out is not spoken of: a question without an answer never refuses a request.
//
// A spec is judged only when it changes, and for what comes from v1alpha1 every error is a warning: release 0.9 admitted
// it. The controller says all of it again, in the conditions of the resource.
package admission

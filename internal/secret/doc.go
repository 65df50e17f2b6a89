// SPDX-License-Identifier: Apache-2.0

// Package secret holds the value of a Secret's key on its way through the operator.
//
// Contract: a Value prints and marshals as a fixed word whatever the verb or encoder, so that no log line, event,
// error, status or ConfigMap can carry it by accident. Its bytes leave it only through Reveal, which the maker of
// derived values (package build) and the builder of their Secret call. Values are validated without being quoted.
package secret

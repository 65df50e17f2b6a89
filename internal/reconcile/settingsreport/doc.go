// SPDX-License-Identifier: Apache-2.0

// Package settingsreport reports errors of the operator's settings and registered distributions by an Event on the
// ConfigMap, a metric and the log.
//
// It runs in the leader after each change of such a ConfigMap, whether or not a custom resource uses it. An unchanged
// error causes no further Event. Package settings decides what is an error.
package settingsreport

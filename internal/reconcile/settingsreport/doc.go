// SPDX-License-Identifier: Apache-2.0

// Package settingsreport reports errors of the operator's settings by an Event on the ConfigMap, a metric and the log.
//
// It runs in the leader after each change of such a ConfigMap; an unchanged error causes no further Event.
package settingsreport

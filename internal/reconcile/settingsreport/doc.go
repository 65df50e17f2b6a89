// SPDX-License-Identifier: Apache-2.0

// Package settingsreport reports what is wrong with the operator's settings and with registered distributions where
// their administrator looks: by an Event on the ConfigMap, a metric and the log.
//
// Contract: it runs in the leader, once for each change of one of these ConfigMaps, whether or not a custom resource
// uses them. A problem gets one Event as long as it stays the same. It decides nothing: what is wrong is the word of
// package settings.
package settingsreport

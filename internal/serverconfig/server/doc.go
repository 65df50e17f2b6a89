// SPDX-License-Identifier: Apache-2.0

// Package server applies what the spec says about the server itself: port, workers and TLS, and the export of
// telemetry.
//
// Contract: pure. Apply changes the section server of the document; ApplyTelemetry adds variables to the environment,
// and a switch to the document where the release line has one. Both report to the collector.
package server

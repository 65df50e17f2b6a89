// SPDX-License-Identifier: Apache-2.0

// Package server applies port, workers, TLS and telemetry of the spec. Apply changes section server of the document;
// ApplyTelemetry adds environment variables, and a switch in the document if the release line has one.
package server

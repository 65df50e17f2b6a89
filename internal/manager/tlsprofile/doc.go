// SPDX-License-Identifier: Apache-2.0

// Package tlsprofile makes the operator's ports follow the TLS profile of an OpenShift cluster.
//
// The profile is in the object "cluster" of the kind APIServer of config.openshift.io. Each handshake uses the current
// one, so a change needs no restart; established connections stay. Elsewhere, and until the profile is known, the
// profile Intermediate applies. Go's crypto/tls cannot restrict the cipher suites of TLS 1.3.
package tlsprofile

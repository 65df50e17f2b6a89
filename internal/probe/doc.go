// SPDX-License-Identifier: Apache-2.0

// Package probe asks a running server about itself: its version and its providers.
//
// Contract: requests go only to the URL that is given, are bounded in time and size, follow no redirects and send no
// credentials; so the certificate of a server that speaks HTTPS is not checked. What the server says about a provider's
// config and health is not passed on: the config shows some resolved secrets, and no release reports real health there.
package probe

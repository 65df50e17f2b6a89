// SPDX-License-Identifier: Apache-2.0

// Package secret holds values of Secrets. A Value prints and marshals as a fixed word, so that logs, Events, errors,
// status and ConfigMaps cannot contain it by accident. Only Reveal returns its bytes; validation never quotes them.
package secret

// SPDX-License-Identifier: Apache-2.0

// Package certificates renews the serving certificate of the webhooks and injects the CA bundle.
//
// One Secret holds the certificate, its key, the CA bundle and, if the operator manages certificates itself, the CA
// key. Every replica runs a Keeper, not only the leader; the Secret's resourceVersion resolves conflicts. With
// cert-manager or OpenShift the Keeper only reads.
package certificates

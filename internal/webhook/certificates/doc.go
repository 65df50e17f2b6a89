// SPDX-License-Identifier: Apache-2.0

// Package certificates keeps the certificate that the operator's webhooks serve, and injects the CA bundle.
//
// One Secret in the operator's namespace holds it all: the serving certificate with its key (tls.crt, tls.key), the CA
// certificates to trust (ca.crt) and, where the operator manages them itself, the key of the signing one (ca.key). The
// Keeper watches that Secret, the CRD and the webhook configuration that send the API server to the webhooks. It
//
//   - hands the serving certificate to TLS straight from the Secret, in every replica, as soon as it changes;
//   - renews what is due. If this machine's clock says so, the API server's decides: that server checks the
//     certificate, and no clock of a replica may lock it out. Next decides, as a pure function of the Secret's content
//     and the time. A new CA is trusted for a while before it signs anything, and the old one stays trusted for as long
//     after that. So whichever certificate a replica serves, and whichever CA bundle the API server has read, they
//     match;
//   - writes the CA certificates into spec.conversion of the CustomResourceDefinition and into the webhooks of the
//     ValidatingWebhookConfiguration, as a field manager of its own. They stand in no manifest, so applying one again
//     does not remove them, and what a replacement removed is put back at once.
//
// Contract: any replica may do all this, and need not lead. Two that do it at once are distinguished by the Secret's
// resourceVersion: one write wins, the other replica takes what was written. Nothing here reads the kind that needs the
// conversion webhook, so it works before that can. Only targets that name a Service of the operator's own namespace
// are touched. Where cert-manager or OpenShift manages the certificates, the Keeper writes nothing and only reads.
//
// It does not serve webhooks, and never logs or returns a key.
package certificates

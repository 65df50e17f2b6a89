// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// warnOpen warns of a server that is exposed and does not ask who calls it, or that gets tokens without encryption. What runs a configuration
// that nobody knows is not warned of, and neither is a custom resource of v1alpha1, which has no field for it.
func warnOpen(d *Desired, in *Inputs) {
	known := d.Config != nil || d.Override != nil && string(d.OverrideContent) != secret.OnCluster ||
		d.Override == nil && d.Distribution != nil && d.Distribution.Base != nil
	if !known || !d.Expose.Enabled || d.Edge.Kind == settings.EdgeNone || in.Legacy.FromV1alpha1 || d.problems.HasErrors() {
		return
	}
	switch auth := d.Auth(); {
	case auth.Type == "":
		d.problems.warn(problem.Unprotected, pathExpose, "everyone who reaches the host may call the server: nothing asks who they are",
			"set spec.auth, or ignore this where a proxy in front of the server asks")
	case d.Edge.Kind == settings.EdgeIngress && d.Edge.TLSSecretName == "" && !d.TLS().Enabled():
		d.problems.warn(problem.Unprotected, pathExpose, "the tokens of callers reach the server without encryption: neither the Ingress nor the server has TLS",
			"set spec.networking.tls, or tlsSecretName in the key "+settings.KeyEdge+" of the ConfigMap "+settings.ConfigMapName)
	}
}

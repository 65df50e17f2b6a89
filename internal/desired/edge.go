// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

const pathExpose = "spec.networking.expose"

// edge is the operator's setting, with the kind that it comes to in this cluster.
func (in *Inputs) edge() settings.Edge {
	edge := in.Edge
	if edge.Kind == "" || edge.Kind == settings.EdgeAuto {
		edge.Kind = settings.EdgeIngress
	}
	return edge
}

// isHostless reports whether what exposes the server takes the requests for every name.
func (in *Inputs) isHostless() bool {
	edge := in.edge()
	return in.Spec.Expose.Enabled && (edge.Kind == settings.EdgeIngress || edge.Kind == settings.EdgeHTTPRoute) &&
		objects.Hostname(in.CR, in.Spec.Expose, &edge) == ""
}

// checkExpose reports what keeps the server from being exposed.
func (r *report) checkExpose(in *Inputs) {
	expose, edge := in.Spec.Expose, in.edge()
	host := objects.Hostname(in.CR, in.Spec.Expose, &edge)
	switch {
	case !expose.Enabled:
	case edge.Err != nil:
		r.Add(problem.Problem{
			Reason: problem.InvalidOperatorSettings, Path: pathExpose, Type: field.ErrorTypeInvalid, Detail: "operator settings: " + edge.Err.Error(),
			Fix: "correct the ConfigMap " + settings.ConfigMapName, Err: edge.Err,
		})
	case edge.Kind == settings.EdgeNone:
		r.warn(problem.NoEffect, pathExpose, fmt.Sprintf("has no effect: the operator's administrator exposes no server (kind in the key %s of the "+
			"ConfigMap %s)", settings.KeyEdge, settings.ConfigMapName), "remove it, or ask the administrator")
	case expose.Hostname != "":
		if problems := settings.ValidateHost(expose.Hostname); len(problems) > 0 {
			r.invalidField(pathExpose+".hostname", expose.Hostname, problems[0], "")
		}
	case host != "":
		if len(settings.ValidateHost(host)) > 0 {
			r.invalidField(pathExpose, host, "is not a valid host name: the name and the namespace are too long together",
				"set "+pathExpose+".hostname")
		}
	case in.isHostless():
		r.warn(problem.NoHostname, pathExpose, fmt.Sprintf("the %s has no host name: it receives the requests for every name that no other one has", edge.Kind),
			fmt.Sprintf("set %s.hostname, or domain in the key %s of the ConfigMap %s", pathExpose, settings.KeyEdge, settings.ConfigMapName))
	}
}

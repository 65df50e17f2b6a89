// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// Hostname is the host name under which the resource is exposed: the one that it names, else one made of its name and namespace in the domain
// of the setting. It is empty where there is neither: then OpenShift's router makes one, and an Ingress or HTTPRoute takes the requests for
// every name that reaches it.
func Hostname(cr *v1alpha2.LlamaStackDistribution, expose parse.Expose, edge *settings.Edge) string {
	made := ""
	if edge.Domain != "" {
		made = cr.Name + "-" + cr.Namespace + "." + edge.Domain
	}
	return cmp.Or(expose.Hostname, made)
}

// edgeStamp is the metadata of what exposes the server.
func edgeStamp(p *Params, name string) metav1.ObjectMeta {
	meta := stamp(p.CR, name)
	meta.Annotations = maps.Clone(p.Edge.Annotations)
	return meta
}

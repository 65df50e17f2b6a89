// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const pathWeight = pathExpose + ".weight"

// Peer is another custom resource of the namespace that was applied with the same host name and a weight.
type Peer struct {
	objects.Share
	// Available reports that its server has a pod for requests.
	Available bool
	// Databases are the keyed hashes of the databases of its state, sorted.
	Databases []string
}

// SharesRequests reports whether the server gets a share of the requests for its host name.
func (in *Inputs) SharesRequests() bool {
	return in.Spec.Expose.Enabled && in.Spec.Expose.Weight != nil
}

// share returns the own share of the requests, or nil.
func (in *Inputs) share() *objects.Share {
	if !in.SharesRequests() {
		return nil
	}
	return &objects.Share{Name: in.CR.Name, Host: in.Spec.Expose.Hostname, Weight: *in.Spec.Expose.Weight,
		Port: objects.Port(&in.CR.Spec)}
}

// shares returns who gets the requests for the host name, sorted: the servers with pods, and all if these have no
// weight. All peers come to the same result, so that it does not matter which of their HTTPRoutes a Gateway takes.
func (in *Inputs) shares() []objects.Share {
	own := in.share()
	if own == nil {
		return nil
	}
	all := []Peer{{Share: *own, Available: in.Live != nil && in.Live.Status.AvailableReplicas > 0}}
	all = append(all, in.Peers...)
	var list, available []objects.Share
	weight := int32(0)
	for _, p := range all {
		list = append(list, p.Share)
		if p.Available {
			available = append(available, p.Share)
			weight += p.Weight
		}
	}
	if weight > 0 {
		list = available
	}
	slices.SortFunc(list, func(a, b objects.Share) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// isPeer reports whether a custom resource of the namespace shares the requests for the host name.
func (in *Inputs) isPeer(namespace, name string) bool {
	return namespace == in.CR.Namespace && slices.ContainsFunc(in.Peers, func(p Peer) bool { return p.Name == name })
}

// checkShares reports a share of requests that the edge cannot give, and one that would reach a server without the
// state of the others.
func (d *Desired) checkShares(in *Inputs) {
	if !in.SharesRequests() || d.Edge.Kind == settings.EdgeNone || d.Edge.Err != nil {
		return
	}
	refuse := func(reason problem.Reason, detail, fix string) {
		d.problems.Add(problem.Problem{
			Reason: reason, Path: pathWeight, Type: field.ErrorTypeForbidden, Detail: detail, Fix: fix,
		})
	}
	const remove = ", or remove the weight"
	switch {
	case in.Spec.Expose.Hostname == "":
		d.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: pathExpose + ".hostname", Type: field.ErrorTypeRequired,
			Detail: "servers share the requests for a host name", Fix: "set it to the same name in each of them" + remove,
		})
		return
	case d.Edge.Kind != settings.EdgeHTTPRoute:
		refuse(problem.UnsupportedByOperator, fmt.Sprintf("only a Gateway shares requests between servers, and the server "+
			"is exposed by an object of the kind %s", d.Edge.Kind), "ask the administrator for kind: HTTPRoute and a gateway "+
			"in the key "+settings.KeyEdge+" of the ConfigMap "+settings.ConfigMapName+remove)
		return
	case len(in.Peers) >= limits.Shares:
		refuse(problem.TooLarge, fmt.Sprintf("%d other servers share the host name, and an HTTPRoute has at most %d in total",
			len(in.Peers), limits.Shares), "remove one of them"+remove)
		return
	case d.problems.HasErrors() || in.Unresolved:
		return // the configuration, and with it the place of the state, is not known
	}
	if detail, fix := d.ownState(); detail != "" {
		refuse(problem.ConflictingFields, "the other servers at the host name do not have the state of this one: "+detail,
			fix+remove)
		return
	}
	if in.HashKey.Empty() {
		return // databases are not compared without a cluster
	}
	own := in.databaseHashes()
	for _, p := range in.Peers {
		if !slices.Equal(p.Databases, own) {
			refuse(problem.ConflictingFields, fmt.Sprintf("the LlamaStackDistribution %s at the same host name has its state "+
				"in other databases: clients would lose their conversations and files from one request to the next", p.Name),
				"use the same databases, with the same user, in spec.storage of both"+remove)
			return
		}
	}
}

// isOptional reports whether a provider has state only for requests that name it.
func isOptional(local *serverconfig.LocalState, p serverconfig.ProviderName) bool {
	return p.API == parse.APIVectorIO.Name && local.DefaultVectors != "" && local.DefaultVectors != p.ID
}

// ownState returns the state that only this server can have, and how to keep it elsewhere.
func (d *Desired) ownState() (detail, fix string) {
	var local serverconfig.LocalState
	switch {
	case d.Config != nil:
		local = d.Config.LocalState
	case d.Override == nil && d.Distribution.Base != nil:
		local = serverconfig.LocalStateOf(d.Distribution.Base)
	default:
		return "the operator does not know the databases of a configuration that it does not generate", "use spec.storage"
	}
	var used, optional serverconfig.LocalState
	for _, p := range local.Providers {
		if isOptional(&local, p) {
			optional.Providers = append(optional.Providers, p)
		} else {
			used.Providers = append(used.Providers, p)
		}
	}
	local.Providers = used.Providers
	if parts := local.Names(); len(parts) > 0 {
		return "it is in its pod: " + limits.Names(parts), strings.Join(stateElsewhere(&local), "; and ")
	}
	if parts := optional.Names(); len(parts) > 0 {
		d.problems.warn(problem.EphemeralState, pathWeight, "the other servers at the host name do not have the vector "+
			"stores that clients create with "+limits.Names(parts), "do not name these providers in requests, or "+
			strings.Join(stateElsewhere(&optional), "; and "))
	}
	for _, s := range d.remoteStores() {
		if s.Field == "" {
			return fmt.Sprintf("storage backend %s is that of the base configuration, whose address is not known", s.Backend),
				"name its database in spec.storage"
		}
	}
	return "", ""
}

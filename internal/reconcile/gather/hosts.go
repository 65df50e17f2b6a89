// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"cmp"
	"context"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// HostIndex indexes undecoded custom resources by their hosts: see IndexHosts.
const HostIndex = "hosts"

// Values of HostIndex: a host name of the spec, the first label of a generated host name, and any generated host name.
const (
	hostPrefix      = "host "
	generatedPrefix = "made "
	anyGenerated    = "unnamed"
)

// IndexHosts returns the values of an undecoded custom resource in HostIndex, or none if it is not exposed.
func IndexHosts(o client.Object) []string {
	expose := exposeOf(o)
	switch {
	case !expose.Enabled:
		return nil
	case expose.Hostname != "":
		return []string{hostPrefix + expose.Hostname}
	}
	return []string{generatedPrefix + objects.HostLabel(client.ObjectKeyFromObject(o)), anyGenerated}
}

// conflictingValues returns the HostIndex values of custom resources with the same host, in the settings' domain or "".
func conflictingValues(name types.NamespacedName, hostname, domain string) []string {
	label, rest, _ := strings.Cut(hostname, ".")
	switch {
	case hostname == "" && domain == "":
		return []string{anyGenerated}
	case hostname == "":
		label = objects.HostLabel(name)
		return []string{generatedPrefix + label, hostPrefix + label + "." + domain}
	case domain != "" && rest == domain:
		return []string{hostPrefix + hostname, generatedPrefix + label}
	}
	return []string{hostPrefix + hostname}
}

// NextOlder returns the youngest of the older custom resources with the same host, or nil; uses has HostIndex.
func NextOlder(ctx context.Context, hosts client.Reader, o client.Object, hostname,
	domain string) (*types.NamespacedName, error) {
	return neighbor(ctx, hosts, o, hostname, domain, -1)
}

// NextYounger returns the oldest of the younger custom resources with the same host, or nil.
func NextYounger(ctx context.Context, hosts client.Reader, o client.Object, domain string) (*types.NamespacedName,
	error) {
	expose := exposeOf(o)
	if !expose.Enabled {
		return nil, nil //nolint:nilnil // not exposed
	}
	return neighbor(ctx, hosts, o, expose.Hostname, domain, 1)
}

// neighbor returns the next custom resource in age with the same host; direction is 1 for younger, -1 for older.
func neighbor(
	ctx context.Context, hosts client.Reader, o client.Object, hostname, domain string, direction int,
) (*types.NamespacedName, error) {
	var best client.Object
	for _, value := range conflictingValues(client.ObjectKeyFromObject(o), hostname, domain) {
		list := NewTrees()
		if err := hosts.List(ctx, list, client.MatchingFields{HostIndex: value}, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for i := range list.Items {
			other := &list.Items[i]
			if other.GetUID() != o.GetUID() && direction*byAge(other, o) > 0 &&
				(best == nil || direction*byAge(other, best) < 0) {
				best = other
			}
		}
	}
	if best == nil {
		return nil, nil //nolint:nilnil // no other custom resource has this host
	}
	name := client.ObjectKeyFromObject(best)
	return &name, nil
}

// byAge orders custom resources by age, oldest first, and then by namespace and name.
func byAge(a, b client.Object) int {
	created := b.GetCreationTimestamp()
	return cmp.Or(a.GetCreationTimestamp().Compare(created.Time), cmp.Compare(a.GetNamespace(), b.GetNamespace()),
		cmp.Compare(a.GetName(), b.GetName()))
}

// exposeOf returns the exposure of an undecoded custom resource, or the zero value if it is invalid.
func exposeOf(o client.Object) parse.Expose {
	defer problem.CatchReadPanic(logf.Log, o, "panic while indexing the hosts of a custom resource")
	tree, ok := o.(*unstructured.Unstructured)
	if !ok {
		return parse.Expose{}
	}
	var spec struct {
		Networking struct {
			Expose *apiextensionsv1.JSON `json:"expose"`
		} `json:"networking"`
	}
	text, err := specText(tree)
	if err != nil || text == nil || kjson.UnmarshalCaseSensitivePreserveInts(text, &spec) != nil ||
		spec.Networking.Expose == nil {
		return parse.Expose{}
	}
	expose, problems := parse.ExposeField(spec.Networking.Expose)
	if len(problems) > 0 {
		return parse.Expose{}
	}
	return expose
}

// SameHosts reports whether two versions of a custom resource request the same host.
func SameHosts(a, b client.Object) bool {
	return a.GetUID() == b.GetUID() && slices.Equal(IndexHosts(a), IndexHosts(b))
}

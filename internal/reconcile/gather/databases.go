// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
)

// DatabaseIndex indexes Deployments by the keyed hashes of the databases of their servers.
const DatabaseIndex = "databases"

// Databases returns the values of a Deployment in DatabaseIndex.
func Databases(o client.Object) []string {
	return strings.FieldsFunc(o.GetAnnotations()[names.AnnotationDatabases], func(r rune) bool { return r == ',' })
}

// UsersOfDatabase returns the other custom resources whose Deployments have a database, sorted.
func UsersOfDatabase(ctx context.Context, cached client.Reader, self types.NamespacedName,
	hash string) ([]types.NamespacedName, error) {
	var list appsv1.DeploymentList
	err := cached.List(ctx, &list, client.MatchingFields{DatabaseIndex: hash}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	var users []types.NamespacedName
	for i := range list.Items {
		d := &list.Items[i]
		user := types.NamespacedName{Namespace: d.Namespace, Name: d.Labels[names.LabelInstance]}
		if user != self && user.Name != "" && d.DeletionTimestamp == nil {
			users = append(users, user)
		}
	}
	slices.SortFunc(users, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return users, nil
}

// databases finds the databases of the spec, and other custom resources that use them.
func (g *Gatherer) databases(ctx context.Context, in *build.Inputs) *problem.Problem {
	in.Databases = in.FindDatabases()
	self := types.NamespacedName{Namespace: in.CR.Namespace, Name: in.CR.Name}
	for i := range in.Databases {
		var err error
		in.Databases[i].Others, err = UsersOfDatabase(ctx, g.Cached, self, in.Databases[i].Hash)
		if err != nil {
			return lookupFailed(v1alpha2.ConditionConfigGenerated, in.Databases[i].Path, "the Deployments", err)
		}
	}
	return nil
}

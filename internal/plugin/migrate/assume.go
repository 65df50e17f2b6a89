// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/lint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// starter is the distribution that stands for an unknown one: most others are made from it.
const starter = "starter"

// running returns a copy of the cluster in which a v1alpha1 resource with its own configuration runs the release that
// release 0.9 of the operator runs, for which its file was written.
func running(ctx context.Context, cluster *offline.Cluster, d *manifest.Document) *offline.Cluster {
	if d.APIVersion() != v1alpha1.GroupVersion.String() || ownFile(cluster.DryRun(ctx, d)) == nil {
		return cluster
	}
	line, _ := catalog.ForVersion(settings.ReleaseOf09)
	changed := *cluster
	changed.Replacement.Running = line.Name
	return &changed
}

// assume returns the cluster, and for a distribution without a known base configuration a copy that takes that of
// starter for it, with a note.
func assume(ctx context.Context, cluster *offline.Cluster, d *manifest.Document, object map[string]any) (
	*offline.Cluster, string) {
	name, _, _ := unstructured.NestedString(object, "spec", "distribution", "name")
	names := cluster.Settings.Names()
	if name != "" && (slices.Contains(names, name) || problem.DidYouMean(name, names) != "") {
		return cluster, ""
	}
	distribution, err := cluster.Distribution(object)
	if err == nil && distribution.Base != nil {
		return cluster, ""
	}
	line, _ := catalog.ForVersion(settings.ReleaseOf09)
	if err == nil && distribution.Line != nil {
		return withStarter(cluster, distribution.Line)
	}
	assumed, note := withStarter(cluster, line)
	content := ownFile(assumed.DryRun(ctx, d))
	if content == nil {
		return assumed, note
	}
	return withStarter(cluster, lineOf(ctx, content))
}

// withStarter returns a copy of the cluster in which each distribution has the base configuration of starter.
func withStarter(cluster *offline.Cluster, line *catalog.Line) (*offline.Cluster, string) {
	assumed := *cluster
	base, _ := distributions.Base(starter, line.Name)
	assumed.Replacement = offline.Replacement{Version: line.Release, Base: base}
	return &assumed, fmt.Sprintf("the distribution is not known here: that of starter, release line %s, stands for it, "+
		"and all variables stay, because it may read them. The operator needs its registration before it can use the "+
		"result: kubectl llamastack register prints one, and --settings reads it", line.Name)
}

// lineOf returns the release line for which a configuration needs the fewest changes; the newest of several.
func lineOf(ctx context.Context, content []byte) *catalog.Line {
	var best *catalog.Line
	least := 0
	for _, name := range slices.Backward(catalog.Lines()) {
		line, _ := catalog.Get(name)
		made, changes, err := migrate.Rewrite(content, line)
		if err != nil {
			return line
		}
		faults := len(changes) + len(lint.Check(ctx, &lint.Input{Content: made, Line: line}))
		if best == nil || faults < least {
			best, least = line, faults
		}
	}
	return best
}

// ownFile returns the configuration in spec.overrideConfig if its ConfigMap is among the files.
func ownFile(r *offline.Resource) []byte {
	if r.Desired == nil || r.Desired.Override == nil || string(r.Desired.OverrideContent) == secret.OnCluster {
		return nil
	}
	return r.Desired.OverrideContent
}

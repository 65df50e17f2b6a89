// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

type facts struct {
	cr     *v1alpha2.LlamaStackDistribution
	owned  []client.Object
	pods   []corev1.Pod
	events []corev1.Event
	// config is the running configuration; nil if unknown.
	config *serverconfig.Base
	// unapplied reports that the server runs the base configuration, or nothing; line is the base's release line.
	unapplied bool
	line      *catalog.Line
	// log is the end of the log of a container that ended; nil if none ended.
	log *podLog
	// share is the share of the requests for the host name; empty if they are not shared.
	share  string
	unread []string
}

func gather(ctx context.Context, c *cluster.Connection, name string) (*facts, error) {
	cr, found, err := c.GetOwned(ctx, name)
	if err != nil {
		return nil, err
	}
	f := &facts{cr: cr, owned: found.Objects, pods: found.Pods, events: found.Events, unread: found.Unread}
	if err := f.readConfig(ctx, c); err != nil {
		return nil, err
	}
	if err := f.readRoute(ctx, c); err != nil {
		return nil, err
	}
	f.readLog(ctx, c)
	f.readStorageLog(ctx, c)
	return f, nil
}

// readConfig reads the ConfigMap in the status, or the distribution's base configuration.
func (f *facts) readConfig(ctx context.Context, c *cluster.Connection) error {
	if g := f.cr.Status.ConfigGeneration; g != nil && g.ConfigMapName != "" {
		cm := &corev1.ConfigMap{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: f.cr.Namespace, Name: g.ConfigMapName}, cm)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			f.unread = append(f.unread, "ConfigMap "+g.ConfigMapName+": "+string(apierrors.ReasonForError(err)))
			return nil
		case err != nil:
			return fmt.Errorf("read ConfigMap %s: %w", g.ConfigMapName, err)
		}
		if f.config, err = serverconfig.ParseBase(g.ConfigMapName, []byte(cm.Data[names.ConfigKey])); err != nil {
			f.unread = append(f.unread, err.Error())
		}
		return nil
	}
	f.unapplied = true
	known, _, err := c.Settings(ctx, settings.DefaultNamespace)
	if err != nil {
		return err
	}
	if d, problem := known.ResolveWithHints(&f.cr.Spec.Distribution,
		build.Hints(build.NewInputs(f.cr), build.ReportedLine(f.cr))); problem == nil {
		f.config, f.line = d.Base, d.Line
	}
	return nil
}

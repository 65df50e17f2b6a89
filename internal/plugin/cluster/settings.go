// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// registrationsPage is the page size for registering ConfigMaps, each of up to a megabyte.
const registrationsPage = 10

// Settings reads the operator's settings and registered distributions. known is false if the user may not read all of
// them; those are treated as absent.
func (c *Connection) Settings(ctx context.Context, operatorNamespace string) (s *settings.Settings, known bool,
	err error) {
	cm := &corev1.ConfigMap{}
	err = c.Client.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: settings.ConfigMapName}, cm)
	known = !apierrors.IsForbidden(err)
	if err != nil && known && !apierrors.IsNotFound(err) {
		return nil, false, fmt.Errorf("read the operator's settings: %w", err)
	}
	registered, err := c.registrations(ctx, operatorNamespace)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, false, fmt.Errorf("read the registered distributions: %w", err)
	}
	known = known && err == nil
	s, err = settings.Parse(cm.Data, registered...)
	if err != nil {
		return nil, false, fmt.Errorf("the operator's settings, ConfigMap %s/%s: %w", operatorNamespace,
			settings.ConfigMapName, err)
	}
	return s, known, nil
}

func (c *Connection) registrations(ctx context.Context, operatorNamespace string) ([]*settings.Registered, error) {
	var found []*settings.Registered
	for next := ""; ; {
		list := &corev1.ConfigMapList{}
		if err := c.Client.List(ctx, list, client.InNamespace(operatorNamespace),
			client.HasLabels{settings.LabelDistribution},
			client.Limit(registrationsPage), client.Continue(next)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			switch cm := &list.Items[i]; {
			case !settings.IsRegistration(cm):
			case len(found) < limits.Registrations:
				found = append(found, settings.ParseRegistration(cm))
			default:
				found = append(found, settings.RefuseRegistration(cm.Name, cm.Labels[settings.LabelDistribution]))
			}
		}
		if next = list.Continue; next == "" {
			return found, nil
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// NewSettingsCache returns a cache of the operator's settings and of nothing else, so that admission sends no request for what it admits. It asks the API
// server nothing before it is started; a read waits until the API server has answered once, and fails when its context ends.
func NewSettingsCache(ctx context.Context, config *rest.Config, operatorNamespace string) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{operatorNamespace: {}},
			Field:      fields.OneTermEqualSelector(metav1.ObjectNameField, settings.ConfigMapName),
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the operator's settings: %w", err)
	}
	if _, err := c.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false)); err != nil { // with the start, not with the first read
		return nil, fmt.Errorf("watch the operator's settings: %w", err)
	}
	return c, nil
}
